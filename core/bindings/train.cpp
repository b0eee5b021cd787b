// Bindings for training.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/progress.hpp"
#include "text/utf8.hpp"
#include "train/parity_training.hpp"
#include "train/trainer.hpp"

namespace piecework {
namespace {

// Pairs the training table of each language with its development table.
std::vector<ParityTables> parity_tables(const std::vector<const WordTable*>& training,
                                        const std::vector<const WordTable*>& development) {
  if (training.size() != development.size()) throw std::invalid_argument("a development table for each language");
  std::vector<ParityTables> tables;
  for (size_t i = 0; i < training.size(); ++i) tables.push_back({training[i], development[i]});
  return tables;
}

// Calls the Python function once for each pass. The function returns an iterator of word tables.
WordTables tables_of(const nb::callable& read) {
  return [read](const std::function<void(const WordTable&)>& visit) {
    nb::gil_scoped_acquire locked;
    for (nb::handle table : nb::iter(read())) {
      const WordTable& words = nb::cast<const WordTable&>(table);
      nb::gil_scoped_release unlocked;
      visit(words);
    }
  };
}

TrainingResult train(nb::object words, uint64_t vocab_size, uint64_t minimum_frequency, float character_coverage,
                     uint32_t max_sentencepiece_length, bool split_by_unicode_script, bool split_by_number,
                     bool split_digits, bool add_dummy_prefix, bool split_by_whitespace,
                     bool allow_whitespace_only_pieces, bool treat_whitespace_as_suffix, bool auto_character_coverage,
                     const std::string& pretokenization_delimiter, uint32_t boundary,
                     std::vector<std::string> meta_pieces, const std::string& required_chars,
                     const std::vector<const WordTable*>& training, const std::vector<const WordTable*>& development,
                     uint32_t large_text, const std::optional<nb::callable>& progress) {
  TrainingOptions options;
  options.character_coverage = character_coverage;
  options.max_sentencepiece_length = max_sentencepiece_length;
  options.split_by_unicode_script = split_by_unicode_script;
  options.split_by_number = split_by_number;
  options.split_digits = split_digits;
  options.add_dummy_prefix = add_dummy_prefix;
  options.split_by_whitespace = split_by_whitespace;
  options.allow_whitespace_only_pieces = allow_whitespace_only_pieces;
  options.treat_whitespace_as_suffix = treat_whitespace_as_suffix;
  options.auto_character_coverage = auto_character_coverage;
  options.pretokenization_delimiter = pretokenization_delimiter;
  options.boundary = boundary;
  options.meta_pieces = std::move(meta_pieces);
  for (const char *p = required_chars.data(), *last = p + required_chars.size(); p < last;) {
    const Decoded c = decode_utf8(p, last);
    options.required_chars += c.code;
    p += c.length;
  }
  const std::vector<ParityTables> languages = parity_tables(training, development);
  options.large_text = large_text;
  const Progress report = progress_to(progress);
  const WordTable* const table = nb::isinstance<WordTable>(words) ? nb::cast<const WordTable*>(words) : nullptr;
  if (!table && !languages.empty()) throw std::invalid_argument("parity-aware training needs a table");
  const WordTables tables = table ? one_table(*table) : tables_of(nb::cast<nb::callable>(words));
  nb::gil_scoped_release unlocked;
  if (!languages.empty()) return train_parity_bpe(*table, languages, options, vocab_size, minimum_frequency, report);
  return train_bpe(tables, options, vocab_size, minimum_frequency, report);
}

ByteLevelTrainingResult train_parity_byte_level(const std::vector<const WordTable*>& training,
                                                const std::vector<const WordTable*>& development, uint64_t vocab_size,
                                                std::vector<std::string> special_tokens, uint64_t min_frequency,
                                                uint32_t max_token_length,
                                                const std::optional<nb::callable>& progress) {
  const ByteLevelTrainingOptions options{std::move(special_tokens), min_frequency, max_token_length};
  const std::vector<ParityTables> tables = parity_tables(training, development);
  const Progress report = progress_to(progress);
  nb::gil_scoped_release unlocked;
  return train_parity_byte_level_bpe(tables, options, vocab_size, report);
}

ByteLevelTrainingResult train_byte_level(const WordTable& table, uint64_t vocab_size,
                                         std::vector<std::string> special_tokens, uint64_t min_frequency,
                                         uint32_t max_token_length, const std::optional<nb::callable>& progress) {
  const ByteLevelTrainingOptions options{std::move(special_tokens), min_frequency, max_token_length};
  const Progress report = progress_to(progress);
  nb::gil_scoped_release unlocked;
  return train_byte_level_bpe(table, options, vocab_size, report);
}

}  // namespace

void bind_train(nb::module_& m) {
  nb::class_<TrainingResult>(m, "TrainingResult")
      .def_ro("character_count", &TrainingResult::character_count)
      .def_prop_ro("merge_frequencies",
                   [](const TrainingResult& result) {
                     nb::dict out;
                     for (const Merge& merge : result.merges) out[nb::cast(merge.piece)] = merge.frequency;
                     return out;
                   })
      .def_prop_ro("characters", [](const TrainingResult& result) {
        nb::list out;
        for (const Character& c : result.characters) {
          std::string text;
          append_utf8(text, c.code);
          out.append(nb::make_tuple(text, c.count));
        }
        return out;
      });

  m.def("train", &train, nb::arg("words"), nb::kw_only(), nb::arg("vocab_size"), nb::arg("minimum_frequency"),
        nb::arg("character_coverage"), nb::arg("max_sentencepiece_length"), nb::arg("split_by_unicode_script"),
        nb::arg("split_by_number"), nb::arg("split_digits"), nb::arg("add_dummy_prefix"),
        nb::arg("split_by_whitespace"), nb::arg("allow_whitespace_only_pieces"), nb::arg("treat_whitespace_as_suffix"),
        nb::arg("auto_character_coverage"), nb::arg("pretokenization_delimiter"), nb::arg("boundary"),
        nb::arg("meta_pieces"), nb::arg("required_chars"), nb::arg("training") = std::vector<const WordTable*>(),
        nb::arg("development") = std::vector<const WordTable*>(), nb::arg("large_text") = kLargeText,
        nb::arg("progress") = nb::none());

  nb::class_<ByteLevelTrainingResult>(m, "ByteLevelTrainingResult")
      .def_ro("alphabet", &ByteLevelTrainingResult::alphabet)
      .def_prop_ro("merges", [](const ByteLevelTrainingResult& result) {
        nb::list out;
        for (const Merge& merge : result.merges) {
          out.append(nb::make_tuple(merge.left, merge.right, merge.piece, merge.frequency));
        }
        return out;
      });

  m.def("train_parity_byte_level", &train_parity_byte_level, nb::arg("training"), nb::kw_only(), nb::arg("development"),
        nb::arg("vocab_size"), nb::arg("special_tokens"), nb::arg("min_frequency"), nb::arg("max_token_length"),
        nb::arg("progress") = nb::none());
  m.def("train_byte_level", &train_byte_level, nb::arg("pre_tokens"), nb::kw_only(), nb::arg("vocab_size"),
        nb::arg("special_tokens"), nb::arg("min_frequency"), nb::arg("max_token_length"),
        nb::arg("progress") = nb::none());
}

}  // namespace piecework
