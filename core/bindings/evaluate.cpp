// Evaluation: counted units to totals.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <type_traits>

#include "bindings/arrays.hpp"
#include "bindings/arrow.hpp"
#include "bindings/bindings.hpp"
#include "count/character_counter.hpp"
#include "evaluate/byte_level_evaluator.hpp"
#include "evaluate/evaluator.hpp"

namespace piecework {
namespace {

// The numbers of a column without nulls.
template <class Number>
const Number* column_of(const ArrowInput& input, std::string_view format, size_t length) {
  if (std::string_view(input.schema->format) != format || input.array->length != static_cast<int64_t>(length)) {
    throw nb::value_error("units need columns uint8, uint8, string and uint64 of the same length");
  }
  return static_cast<const Number*>(input.array->buffers[1]) + input.array->offset;
}

void add_units(UnitSet& units, uint32_t group, nb::handle buckets, nb::handle contexts, nb::handle texts,
               nb::handle counts) {
  const ArrowInput bucket_input(buckets), context_input(contexts), text_input(texts), count_input(counts);
  const std::vector<std::string_view> strings = arrow_strings(*text_input.schema, *text_input.array);
  const auto* const bucket = column_of<uint8_t>(bucket_input, "C", strings.size());
  const auto* const context = column_of<uint8_t>(context_input, "C", strings.size());
  const auto* const count = column_of<uint64_t>(count_input, "L", strings.size());
  nb::gil_scoped_release unlocked;
  units.add(group, {strings, bucket, context, count});
}

void add_texts(CharacterCounter& counter, nb::handle texts, nb::handle counts) {
  const ArrowInput text_input(texts), count_input(counts);
  const std::vector<std::string_view> strings = arrow_strings(*text_input.schema, *text_input.array);
  const auto* const count = column_of<uint64_t>(count_input, "L", strings.size());
  nb::gil_scoped_release unlocked;
  for (size_t i = 0; i < strings.size(); ++i) counter.add(strings[i], count[i]);
}

nb::str to_str(char32_t code) {
  std::string text;
  append_utf8(text, code);
  return nb::str(text.data(), text.size());
}

nb::dict character_totals(const CharacterCounter& counter) {
  nb::dict totals;
  for (const char32_t code : counter.codes()) totals[to_str(code)] = counter.total(code);
  return totals;
}

nb::dict run_totals(const CharacterCounter& counter) {
  nb::dict totals;
  for (const auto& [run, count] : counter.runs()) totals[nb::make_tuple(to_str(run.first), run.second)] = count;
  return totals;
}

// The results of `evaluate` as arrays. Their axes are those of `Evaluation`; the fields of a struct are the last axis.
struct EvaluationArrays {
  nb::object totals, frequencies, sizes, curve, types, single_types, detached;
};

template <class Totals>
constexpr size_t kFields = Totals::kNames.size();

template <class Totals>
nb::tuple field_names() {
  nb::list names;
  for (const char* name : Totals::kNames) names.append(name);
  return nb::tuple(names);
}

size_t vocabulary_size(const Encoder& encoder) { return encoder.model().size(); }
size_t vocabulary_size(const ByteLevelEncoder& encoder) { return encoder.merger().size(); }

template <class AnyEncoder>
EvaluationArrays evaluate(const AnyEncoder& encoder, UnitSet& units, std::vector<uint32_t> merges,
                          std::vector<uint32_t> sizes, std::vector<uint32_t> blocks, uint32_t frequency_groups,
                          unsigned threads) {
  const EvaluationRequest request{std::move(merges), std::move(sizes), std::move(blocks), frequency_groups, threads};
  Evaluation result;
  {
    nb::gil_scoped_release unlocked;
    result = evaluate_units(encoder, units, request);
  }
  const size_t groups = units.groups(), tables = request.blocks.size();
  const size_t table_groups =
      groups / std::max<size_t>(std::accumulate(request.blocks.begin(), request.blocks.end(), size_t{0}), 1);
  const bool has_sizes = !request.merges.empty();
  const size_t size_count = has_sizes ? request.sizes.size() : 0, points = has_sizes ? request.merges.size() + 1 : 0;
  const size_t only_in = result.types.size() / (tables * (table_groups + 1));
  const FrequencyTable& frequencies = result.frequencies;
  const std::vector<size_t> shape{frequencies.groups(), vocabulary_size(encoder)};
  const auto write = [&](auto* out) { frequencies.write_by_group(out); };
  EvaluationArrays out;
  out.totals = nb::cast(to_array<int64_t>(std::move(result.totals), {groups, UnitSet::kBuckets, kFields<TokenTotals>}));
  out.frequencies = frequencies.is_small() ? nb::cast(filled_array<uint32_t>(shape, write))
                                           : nb::cast(filled_array<int64_t>(shape, write));
  out.sizes = nb::cast(
      to_array<int64_t>(std::move(result.sizes), {groups, UnitSet::kBuckets, size_count, kFields<SizeTotals>}));
  out.curve = nb::cast(to_array<int64_t>(std::move(result.curve), {tables, table_groups, points, kFields<SizeTotals>}));
  out.types = nb::cast(to_array<int64_t>(std::move(result.types), {tables, table_groups + 1, only_in}));
  out.single_types = nb::cast(
      to_array<int64_t>(std::move(result.single_types), {1 + request.sizes.size(), tables, table_groups + 1, only_in}));
  const size_t detached = result.detached.size();
  out.detached =
      nb::cast(to_array<uint64_t>(std::move(result.detached), {detached, sizeof(Detached) / sizeof(uint64_t)}));
  return out;
}

template <class Given>
nb::object smaller_frequencies_from(const Encoder& encoder, const std::vector<uint32_t>& merges, uint32_t kept,
                                    const std::vector<uint32_t>& ids, InputArray<Given, nb::ndim<2>> frequencies,
                                    InputArray<uint64_t, nb::shape<-1, 4>> detached) {
  if (frequencies.shape(1) != encoder.model().size()) {
    throw nb::value_error("frequencies must have a column for each piece");
  }
  const std::span<const Given> given(frequencies.data(), frequencies.size());
  const std::span<const Detached> moved(reinterpret_cast<const Detached*>(detached.data()), detached.shape(0));
  bool fits = true;
  const auto write = [&](auto* out) { fits = smaller_frequencies(encoder, merges, kept, ids, given, moved, out); };
  const std::vector<size_t> shape{frequencies.shape(0), ids.size()};
  if constexpr (std::is_same_v<Given, uint32_t>) {
    nb::object out = nb::cast(filled_array<uint32_t>(shape, write));
    if (fits) return out;
  }
  return nb::cast(filled_array<int64_t>(shape, write));
}

Array<int64_t> text_totals(UnitSet& units) {
  std::vector<UnitSet::TextTotals> totals;
  {
    nb::gil_scoped_release unlocked;  // the first call sorts all units
    totals = units.text_totals();
  }
  return to_array<int64_t>(std::move(totals), {units.groups(), UnitSet::kBuckets, kFields<UnitSet::TextTotals>});
}

template <class AnyEncoder>
void bind_evaluate_with(nb::module_& m) {
  m.def("evaluate", &evaluate<AnyEncoder>, nb::arg("encoder"), nb::arg("units"), nb::kw_only(), nb::arg("merges"),
        nb::arg("sizes"), nb::arg("blocks"), nb::arg("frequency_groups"), nb::arg("threads"));
}

template <class Given>
void bind_smaller_frequencies(nb::module_& m) {
  m.def("smaller_frequencies", &smaller_frequencies_from<Given>, nb::arg("encoder"), nb::kw_only(), nb::arg("merges"),
        nb::arg("kept"), nb::arg("ids"), nb::arg("frequencies"), nb::arg("detached"));
}

}  // namespace

void bind_evaluate(nb::module_& m) {
  nb::class_<UnitSet>(m, "UnitSet")
      .def(
          "__init__",
          [](UnitSet* self, uint32_t groups, bool cut_lines, bool pre_tokens) {
            if (pre_tokens) {
              new (self) UnitSet(groups, UnitSet::kOfPreTokens);
            } else {
              new (self) UnitSet(groups, cut_lines);
            }
          },
          nb::arg("groups"), nb::kw_only(), nb::arg("cut_lines"), nb::arg("pre_tokens"))
      .def(
          "__init__",
          [](UnitSet* self, UnitSet& finer, uint32_t groups, const std::vector<uint32_t>& new_groups) {
            nb::gil_scoped_release unlocked;
            new (self) UnitSet(finer, groups, new_groups);
          },
          nb::arg("finer"), nb::arg("groups"), nb::kw_only(), nb::arg("new_groups"))
      .def("__len__", &UnitSet::size, nb::call_guard<nb::gil_scoped_release>())
      .def("add_columns", &add_units, nb::arg("group"), nb::arg("buckets"), nb::arg("contexts"), nb::arg("units"),
           nb::arg("counts"))
      .def("text_totals", &text_totals);

  nb::class_<CharacterCounter>(m, "CharacterCounter")
      .def(nb::init<>())
      .def("add", &add_texts, nb::arg("texts"), nb::arg("counts"))
      .def_prop_ro("characters", &character_totals)
      .def_prop_ro("runs", &run_totals);

  nb::class_<EvaluationArrays>(m, "Evaluation")
      .def_ro("totals", &EvaluationArrays::totals)
      .def_ro("frequencies", &EvaluationArrays::frequencies)
      .def_ro("sizes", &EvaluationArrays::sizes)
      .def_ro("curve", &EvaluationArrays::curve)
      .def_ro("types", &EvaluationArrays::types)
      .def_ro("single_types", &EvaluationArrays::single_types)
      .def_ro("detached", &EvaluationArrays::detached);

  // The names of the last axis of totals, sizes and curve, and text_totals.
  m.attr("TOKEN_TOTALS") = field_names<TokenTotals>();
  m.attr("SIZE_TOTALS") = field_names<SizeTotals>();
  m.attr("TEXT_TOTALS") = field_names<UnitSet::TextTotals>();

  bind_evaluate_with<Encoder>(m);
  bind_evaluate_with<ByteLevelEncoder>(m);
  bind_smaller_frequencies<uint32_t>(m);
  bind_smaller_frequencies<int64_t>(m);
}

}  // namespace piecework
