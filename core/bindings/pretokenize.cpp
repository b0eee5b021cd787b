// Pre-tokenizers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/text.hpp"
#include "pretokenize/pre_tokenizer.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

using Rules = PreTokenizerRules;

template <class Value>
Value value_of(const std::string& name, std::initializer_list<std::pair<std::string_view, Value>> values) {
  for (const auto& [known, value] : values) {
    if (known == name) return value;
  }
  throw nb::value_error(("unknown rule of a pre-tokenizer: " + name).c_str());
}

Rules rules_of(const std::string& family, const std::string& contractions, const std::string& digits,
               bool marks_in_words, bool whole_end) {
  Rules rules;
  rules.family = value_of<Rules::Family>(family, {{"gpt2", Rules::Family::gpt2},
                                                  {"cl100k", Rules::Family::cl100k},
                                                  {"o200k", Rules::Family::o200k},
                                                  {"deepseek", Rules::Family::deepseek}});
  rules.contractions = value_of<Rules::Contractions>(contractions, {{"none", Rules::Contractions::none},
                                                                    {"lower_case", Rules::Contractions::lower_case},
                                                                    {"ascii_case", Rules::Contractions::ascii_case},
                                                                    {"any_case", Rules::Contractions::any_case}});
  rules.digits = value_of<Rules::Digits>(digits, {{"whole", Rules::Digits::whole},
                                                  {"threes", Rules::Digits::threes},
                                                  {"ones", Rules::Digits::ones},
                                                  {"right", Rules::Digits::right}});
  rules.marks_in_words = marks_in_words;
  rules.whole_end = whole_end;
  return rules;
}

nb::list split(const PreTokenizer& pre_tokenizer, nb::str text) {
  TextBatch batch;
  batch.add(text);
  uint64_t replaced = 0;
  const std::string repaired = batch.known_valid ? std::string() : replace_invalid_utf8(batch.views[0], replaced);
  nb::list out;
  pre_tokenizer.for_each(batch.known_valid ? batch.views[0] : std::string_view(repaired),
                         [&](std::string_view part) { out.append(nb::str(part.data(), part.size())); });
  return out;
}

}  // namespace

void bind_pretokenize(nb::module_& m) {
  nb::class_<PreTokenizer>(m, "PreTokenizer")
      .def(
          "__init__",
          [](PreTokenizer* self, const std::string& family, const std::string& contractions, const std::string& digits,
             bool marks_in_words, bool whole_end) {
            new (self) PreTokenizer(rules_of(family, contractions, digits, marks_in_words, whole_end));
          },
          nb::arg("family"), nb::kw_only(), nb::arg("contractions"), nb::arg("digits"), nb::arg("marks_in_words"),
          nb::arg("whole_end"))
      .def("split", &split, nb::arg("text"));
}

}  // namespace piecework
