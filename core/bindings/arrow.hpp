// Arrow columns: in by the Arrow C interface, out as buffers.
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

// A copy in Python's memory, from which a pyarrow buffer is made.
template <class Column>
nb::bytes buffer(const Column& column) {
  return nb::bytes(column.data(), column.size() * sizeof(*column.data()));
}

// Texts with counts, as the buffers of a large_utf8 and a uint64 column.
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
  std::tuple<nb::bytes, nb::bytes, nb::bytes> buffers() const {
    return {buffer(offsets), buffer(data), buffer(counts)};
  }
};

// Units: their buckets as bytes and their `opens` flags as bits, then text and count.
struct UnitColumns : TextColumns {
  std::string buckets, opens;

  void add(const CountedUnit& unit) {
    if (buckets.size() % 8 == 0) opens += '\0';
    opens.back() = static_cast<char>(opens.back() | unit.opens_document << buckets.size() % 8);
    buckets += static_cast<char>(unit.bucket);
    data += unit.bytes;
    end_row(unit.count);
  }
  std::tuple<nb::bytes, nb::bytes, nb::bytes, nb::bytes, nb::bytes> buffers() const {
    return std::tuple_cat(std::tuple{buffer(buckets), buffer(opens)}, TextColumns::buffers());
  }
};

}  // namespace piecework
