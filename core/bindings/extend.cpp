// Bindings for extending a vocabulary.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/progress.hpp"
#include "extend/extension.hpp"
#include "extend/piece_usage.hpp"
#include "text/utf8.hpp"
#include "train/guessed_training.hpp"

namespace piecework {
namespace {

Extension extend(const Encoder& encoder, const WordTable& words, uint64_t wanted, uint64_t minimum_frequency,
                 float character_coverage, uint32_t max_sentencepiece_length, bool split_by_unicode_script,
                 bool split_by_number, bool split_digits, bool add_dummy_prefix, bool allow_whitespace_only_pieces,
                 uint32_t boundary, std::vector<std::string> meta_pieces, const std::optional<nb::callable>& progress) {
  TrainingOptions options;
  options.character_coverage = character_coverage;
  options.max_sentencepiece_length = max_sentencepiece_length;
  options.split_by_unicode_script = split_by_unicode_script;
  options.split_by_number = split_by_number;
  options.split_digits = split_digits;
  options.add_dummy_prefix = add_dummy_prefix;
  options.allow_whitespace_only_pieces = allow_whitespace_only_pieces;
  options.boundary = boundary;
  options.meta_pieces = std::move(meta_pieces);
  const Progress report = progress_to(progress);
  nb::gil_scoped_release unlocked;
  return extend_bpe(encoder, words, options, wanted, minimum_frequency, report);
}

Extension extend_byte_level(const ByteLevelEncoder& encoder, const WordTable& pre_tokens,
                            const std::vector<nb::bytes>& tokens, const std::vector<nb::bytes>& cut_out,
                            bool merges_any_split, uint64_t wanted, uint64_t minimum_frequency,
                            const std::optional<nb::callable>& progress) {
  ByteLevelVocabulary vocabulary;
  vocabulary.merges_any_split = merges_any_split;
  for (const nb::bytes& token : tokens) vocabulary.tokens.emplace_back(token.c_str(), token.size());
  for (const nb::bytes& token : cut_out) vocabulary.cut_out.emplace_back(token.c_str(), token.size());
  const Progress report = progress_to(progress);
  nb::gil_scoped_release unlocked;
  return extend_byte_level_bpe(encoder, vocabulary, pre_tokens, wanted, minimum_frequency, report);
}

Array<uint64_t> usage(const Encoder& encoder, const WordTable& words, bool add_dummy_prefix) {
  TrainingOptions options;
  options.add_dummy_prefix = add_dummy_prefix;
  const Progress report = progress_to(std::nullopt);
  std::vector<uint64_t> found;
  {
    nb::gil_scoped_release unlocked;
    found = piece_usage(encoder, words, options, checkpoint_of(report));
  }
  return to_array(std::move(found));
}

Array<uint64_t> byte_level_usage(const ByteLevelEncoder& encoder, const WordTable& pre_tokens, size_t vocab_size) {
  const Progress report = progress_to(std::nullopt);
  std::vector<uint64_t> found;
  {
    nb::gil_scoped_release unlocked;
    found = piece_usage(encoder, vocab_size, pre_tokens, checkpoint_of(report));
  }
  return to_array(std::move(found));
}

}  // namespace

void bind_extend(nb::module_& m) {
  nb::class_<Extension>(m, "Extension")
      .def_prop_ro("characters",
                   [](const Extension& extension) {
                     nb::list out;
                     for (const Character& c : extension.characters) {
                       std::string text;
                       append_utf8(text, c.code);
                       out.append(nb::make_tuple(text, c.count));
                     }
                     return out;
                   })
      .def_prop_ro("merges", [](const Extension& extension) {
        nb::list out;
        for (const Merge& merge : extension.merges) {
          out.append(nb::make_tuple(merge.left, merge.right, to_bytes(merge.piece), merge.frequency));
        }
        return out;
      });

  m.def("extend", &extend, nb::arg("encoder"), nb::arg("words"), nb::kw_only(), nb::arg("wanted"),
        nb::arg("minimum_frequency"), nb::arg("character_coverage"), nb::arg("max_sentencepiece_length"),
        nb::arg("split_by_unicode_script"), nb::arg("split_by_number"), nb::arg("split_digits"),
        nb::arg("add_dummy_prefix"), nb::arg("allow_whitespace_only_pieces"), nb::arg("boundary"),
        nb::arg("meta_pieces"), nb::arg("progress") = nb::none());

  m.def("extend_byte_level", &extend_byte_level, nb::arg("encoder"), nb::arg("pre_tokens"), nb::kw_only(),
        nb::arg("tokens"), nb::arg("cut_out"), nb::arg("merges_any_split"), nb::arg("wanted"),
        nb::arg("minimum_frequency"), nb::arg("progress") = nb::none());

  m.def("piece_usage", &usage, nb::arg("encoder"), nb::arg("words"), nb::kw_only(), nb::arg("add_dummy_prefix"));
  m.def("byte_level_piece_usage", &byte_level_usage, nb::arg("encoder"), nb::arg("pre_tokens"), nb::kw_only(),
        nb::arg("vocab_size"));
}

}  // namespace piecework
