// Models: pieces in columns.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <charconv>
#include <iterator>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/text.hpp"
#include "model/vocabulary.hpp"
#include "text/normalizer.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

Vocabulary make_vocabulary(const nb::list& texts, std::vector<float> scores, const std::vector<int>& types) {
  Vocabulary vocabulary;
  vocabulary.texts.reserve(nb::len(texts));
  for (nb::handle text : texts) append_str(vocabulary.texts.emplace_back(), text);
  vocabulary.scores = std::move(scores);
  for (const int type : types) vocabulary.types.push_back(static_cast<PieceType>(type));
  if (vocabulary.scores.size() != vocabulary.size() || vocabulary.types.size() != vocabulary.size()) {
    throw nb::value_error("texts, scores and types must have the same length");
  }
  return vocabulary;
}

// A line for each text: the text, a tab, its count.
nb::bytes count_lines(const nb::dict& counts) {
  std::string lines;
  char digits[20];
  for (const auto [text, count] : counts) {
    append_str(lines, text);
    char* const end = std::to_chars(digits, std::end(digits), nb::cast<uint64_t>(count)).ptr;
    lines.append(1, '\t').append(digits, end).append(1, '\n');
  }
  return to_bytes(lines);
}

nb::list text_list(const Vocabulary& vocabulary) {
  nb::list out;
  for (const std::string& text : vocabulary.texts) out.append(nb::str(text.data(), text.size()));
  return out;
}

}  // namespace

void bind_model(nb::module_& m) {
  nb::exception<ModelError>(m, "CoreModelError", PyExc_ValueError);
  nb::exception<NormalizerError>(m, "NormalizerError", PyExc_ValueError);

  nb::class_<Normalizer>(m, "Normalizer")
      .def(
          "__init__",
          [](Normalizer* self, nb::bytes precompiled_charsmap, bool remove_extra_whitespaces) {
            NormalizerSettings settings;
            settings.precompiled_charsmap.assign(precompiled_charsmap.c_str(), precompiled_charsmap.size());
            settings.add_dummy_prefix = false;
            settings.remove_extra_whitespaces = remove_extra_whitespaces;
            new (self) Normalizer(settings);
          },
          nb::kw_only(), nb::arg("precompiled_charsmap"), nb::arg("remove_extra_whitespaces"))
      .def(
          "normalize",
          [](const Normalizer& normalizer, nb::handle text) {
            TextBatch batch;
            batch.add(text);
            std::string normalized;
            normalizer.normalize(batch.views[0], normalized);
            return normalized;
          },
          nb::arg("text"));

  m.def("count_lines", &count_lines, nb::arg("counts"));

  nb::class_<Vocabulary>(m, "Vocabulary")
      .def(
          "__init__",
          [](Vocabulary* self, const nb::list& texts, std::vector<float> scores, const std::vector<int>& types) {
            new (self) Vocabulary(make_vocabulary(texts, std::move(scores), types));
          },
          nb::arg("texts"), nb::arg("scores"), nb::arg("types"))
      .def_static(
          "read", [](nb::bytes file) { return read_pieces({file.c_str(), file.size()}); }, nb::arg("file"))
      .def("__len__", &Vocabulary::size)
      .def_prop_ro("texts", &text_list)
      .def_prop_ro("scores", [](const Vocabulary& vocabulary) { return vocabulary.scores; })
      .def_prop_ro("types",
                   [](nb::handle_t<Vocabulary> self) {
                     const auto& types = nb::cast<const Vocabulary&>(self).types;
                     return View<uint8_t>(reinterpret_cast<const uint8_t*>(types.data()), {types.size()}, self);
                   })
      .def("to_bytes", &written<write_pieces, Vocabulary>)
      .def("vocab_text", &written<vocab_text, Vocabulary>)
      .def("ids_json", &written<ids_json, Vocabulary>)
      .def("tied_pieces", &tied_pieces)
      .def("first_unjoined", &first_unjoined, nb::kw_only(), nb::arg("merges"), nb::arg("characters"))
      .def("lone_characters", [](const Vocabulary& vocabulary) {
        std::string text;
        for (const char32_t code : lone_characters(vocabulary)) append_utf8(text, code);
        return text;
      });
}

}  // namespace piecework
