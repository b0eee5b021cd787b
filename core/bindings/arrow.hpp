// Arrow columns: read through the Arrow C interface, returned as typed arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "count/document_counter.hpp"
#include "text/arrow_strings.hpp"

namespace piecework {

// An Arrow array of any library, and what keeps it alive.
struct ArrowInput {
  explicit ArrowInput(nb::handle source) : capsules(nb::cast<nb::tuple>(source.attr("__arrow_c_array__")())) {
    schema = static_cast<ArrowSchema*>(PyCapsule_GetPointer(capsules[0].ptr(), "arrow_schema"));
    if (schema) array = static_cast<ArrowArray*>(PyCapsule_GetPointer(capsules[1].ptr(), "arrow_array"));
    if (!array) throw nb::python_error();
  }
  nb::tuple capsules;
  const ArrowSchema* schema = nullptr;
  const ArrowArray* array = nullptr;
};

using TextArrays = std::tuple<View<int64_t>, View<uint8_t>, View<uint64_t>>;

// Texts with counts: the offsets and the text of a large_utf8 column, then a uint64 column.
struct TextColumns {
  std::vector<int64_t> offsets{0};
  std::string data;
  std::vector<uint64_t> counts;

  void reserve(size_t rows, size_t text_bytes) {
    offsets.reserve(rows + 1);
    data.reserve(text_bytes);
    counts.reserve(rows);
  }
  // The text of this row is what was added to `data` since the last row.
  void end_row(uint64_t count) {
    offsets.push_back(static_cast<int64_t>(data.size()));
    counts.push_back(count);
  }
  TextArrays take() {
    return {to_view<int64_t>(std::move(offsets)), to_view<uint8_t>(std::move(data)),
            to_view<uint64_t>(std::move(counts))};
  }
};

// Units: their buckets and contexts as bytes and their `opens` flags as bits, then text and count.
struct UnitColumns : TextColumns {
  std::string buckets, contexts, opens;

  void add(const CountedUnit& unit) {
    if (buckets.size() % 8 == 0) opens += '\0';
    opens.back() = static_cast<char>(opens.back() | (unit.context & UnitContext::kOpens) << buckets.size() % 8);
    buckets += static_cast<char>(unit.bucket);
    contexts += static_cast<char>(unit.context);
    data += unit.bytes;
    end_row(unit.count);
  }
  std::tuple<View<uint8_t>, View<uint8_t>, View<uint8_t>, View<int64_t>, View<uint8_t>, View<uint64_t>> take() {
    auto flags = std::tuple{to_view<uint8_t>(std::move(buckets)), to_view<uint8_t>(std::move(contexts)),
                            to_view<uint8_t>(std::move(opens))};
    return std::tuple_cat(std::move(flags), TextColumns::take());
  }
};

}  // namespace piecework
