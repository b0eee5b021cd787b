// Evaluation: counted units to totals.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/arrow.hpp"
#include "bindings/bindings.hpp"
#include "evaluate/evaluator.hpp"

namespace piecework {
namespace {

void add_units(UnitSet& units, uint32_t group, nb::handle buckets, nb::handle opens, nb::handle texts,
               nb::handle counts) {
  const ArrowInput bucket_input(buckets), open_input(opens), text_input(texts), count_input(counts);
  const std::vector<std::string_view> strings = arrow_strings(*text_input.schema, *text_input.array);
  const auto column = [&](const ArrowInput& input, std::string_view format) {
    if (std::string_view(input.schema->format) != format ||
        input.array->length != static_cast<int64_t>(strings.size())) {
      throw nb::value_error("units need columns uint8, uint8, string and uint64 of the same length");
    }
    return input.array->buffers[1];
  };
  const auto* bucket = static_cast<const uint8_t*>(column(bucket_input, "C")) + bucket_input.array->offset;
  const auto* open = static_cast<const uint8_t*>(column(open_input, "C")) + open_input.array->offset;
  const auto* count = static_cast<const uint64_t*>(column(count_input, "L")) + count_input.array->offset;
  nb::gil_scoped_release unlocked;
  units.add(group, {strings, bucket, open, count});
}

nb::dict evaluate(const Encoder& encoder, UnitSet& units, std::vector<uint32_t> merges, std::vector<uint32_t> sizes,
                  std::vector<uint32_t> blocks, uint32_t frequency_groups, unsigned threads) {
  Evaluation result;
  {
    nb::gil_scoped_release unlocked;
    result = evaluate_units(encoder, units,
                            {std::move(merges), std::move(sizes), std::move(blocks), frequency_groups, threads});
  }
  const FrequencyTable& frequencies = result.frequencies;
  const auto write = [&](auto* out) { frequencies.write_by_group(out); };
  nb::dict out;
  out["totals"] = column_bytes(result.totals);
  out["frequencies"] = frequencies.is_small() ? filled_bytes<uint32_t>(frequencies.size(), write)
                                              : filled_bytes<uint64_t>(frequencies.size(), write);
  out["sizes"] = column_bytes(result.sizes);
  out["curve"] = column_bytes(result.curve);
  out["detached"] = column_bytes(result.detached);
  out["types"] = column_bytes(result.types);
  out["single_types"] = column_bytes(result.single_types);
  return out;
}

nb::bytes frequencies_of_smaller(const Encoder& encoder, const std::vector<uint32_t>& merges, uint32_t kept,
                                 const std::vector<uint32_t>& ids, const nb::bytes& frequencies, size_t groups,
                                 const nb::bytes& detached) {
  const size_t given = groups * encoder.model().size(), wanted = groups * ids.size();
  const bool small = frequencies.size() == given * sizeof(uint32_t);
  if ((!small && frequencies.size() != given * sizeof(uint64_t)) || detached.size() % sizeof(Detached)) {
    throw nb::value_error("frequencies and detached are columns that evaluate gives");
  }
  const auto of_given = [&](auto column) {
    bool fits = true;
    const auto write = [&](auto* out) {
      fits = smaller_frequencies(encoder, merges, kept, ids, column, column_of<Detached>(detached), out);
    };
    if constexpr (sizeof(column[0]) == sizeof(uint32_t)) {
      nb::bytes out = filled_bytes<uint32_t>(wanted, write);
      if (fits) return out;
    }
    return filled_bytes<uint64_t>(wanted, write);
  };
  return small ? of_given(column_of<uint32_t>(frequencies)) : of_given(column_of<uint64_t>(frequencies));
}

}  // namespace

void bind_evaluate(nb::module_& m) {
  nb::class_<UnitSet>(m, "UnitSet")
      .def(nb::init<uint32_t, bool>(), nb::arg("groups"), nb::kw_only(), nb::arg("cut_lines"))
      .def("__len__", &UnitSet::size, nb::call_guard<nb::gil_scoped_release>())
      .def("add_columns", &add_units, nb::arg("group"), nb::arg("buckets"), nb::arg("opens"), nb::arg("units"),
           nb::arg("counts"))
      .def("text_totals", [](UnitSet& units) {
        std::vector<UnitSet::TextTotals> totals;
        {
          nb::gil_scoped_release unlocked;  // the first to ask has them arranged
          totals = units.text_totals();
        }
        return column_bytes(totals);
      });

  m.def("evaluate", &evaluate, nb::arg("encoder"), nb::arg("units"), nb::kw_only(), nb::arg("merges"), nb::arg("sizes"),
        nb::arg("blocks"), nb::arg("frequency_groups"), nb::arg("threads"));
  m.def("smaller_frequencies", &frequencies_of_smaller, nb::arg("encoder"), nb::kw_only(), nb::arg("merges"),
        nb::arg("kept"), nb::arg("ids"), nb::arg("frequencies"), nb::arg("groups"), nb::arg("detached"));
}

}  // namespace piecework
