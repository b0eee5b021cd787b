// Bindings for counting: word tables, counters of texts, spill files.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrow.hpp"
#include "bindings/bindings.hpp"
#include "bindings/indices.hpp"
#include "bindings/text.hpp"
#include "count/document_counter.hpp"
#include "count/pre_token_counter.hpp"
#include "count/spill_file.hpp"
#include "count/word_counter.hpp"
#include "count/word_forms.hpp"
#include "text/arrow_strings.hpp"
#include "text/normalizer.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

// Words, sorted or in no order. A word has ▁ in front unless it opens a line.
auto table_columns(const WordTable& table, bool ordered) {
  TextColumns columns;
  {
    nb::gil_scoped_release unlocked;
    table.visit_each(ordered ? table.sorted() : all_indices(table), [&](uint32_t index) {
      const Word word = table.at(index);
      if (!word.opens_line) columns.data += kSpaceMarkUtf8;
      columns.data += word.bytes;
      columns.end_row(word.count);
    });
  }
  return columns.take();
}

// The next merged rows: at most `rows`, and until they have `text_bytes` bytes of text. Empty at the end.
auto next_words(SpillMerger& merger, size_t rows, size_t text_bytes) {
  TextColumns columns;
  {
    nb::gil_scoped_release unlocked;
    columns.reserve(rows, text_bytes);
    while (columns.counts.size() < rows && columns.data.size() < text_bytes && merger.next()) {
      columns.data += merger.key();
      columns.end_row(merger.count());
    }
  }
  return columns.take();
}

auto next_units(SpillMerger& merger, size_t rows, size_t text_bytes) {
  UnitColumns columns;
  {
    nb::gil_scoped_release unlocked;
    columns.reserve(rows, text_bytes);
    while (columns.counts.size() < rows && columns.data.size() < text_bytes && merger.next()) {
      columns.add(DocumentCounter::unit_from_key(merger.key(), merger.count()));
    }
  }
  return columns.take();
}

// The next words, without ▁, and the counts of their forms: at the start of a line, and elsewhere.
auto next_word_forms(WordFormMerger& merger, size_t rows, size_t text_bytes) {
  TextColumns columns;
  std::vector<uint64_t> other_counts;
  {
    nb::gil_scoped_release unlocked;
    columns.reserve(rows, text_bytes);
    while (columns.counts.size() < rows && columns.data.size() < text_bytes && merger.next()) {
      columns.data += merger.word();
      columns.end_row(merger.opening_count());
      other_counts.push_back(merger.other_count());
    }
  }
  return std::tuple_cat(columns.take(), std::tuple{to_view<uint64_t>(std::move(other_counts))});
}

template <Split split>
void queue_word(WordTable& table, std::string_view text, uint64_t count) {
  const bool marked = text.starts_with(kSpaceMarkUtf8);
  if (marked) text.remove_prefix(kSpaceMarkUtf8.size());
  const size_t first = split == Split::words ? 0 : split == Split::lines ? text.size() : text.find_first_not_of(' ');
  const bool has_space = first < text.size() && text.find(' ', first) != text.npos;
  if (has_space || text.find('\n') != text.npos || text.find(kSpaceMarkUtf8) != text.npos) {
    throw nb::value_error("a word has no space, no newline, and a ▁ only at its start");
  }
  table.queue(text, !marked, count, text.data() + text.size());
}

// A pre-token is stored unchanged: its spaces stay spaces.
void queue_pre_token(WordTable& table, std::string_view text, uint64_t count) {
  table.queue(text, true, count, text.data() + text.size());
}

template <void (*queue)(WordTable&, std::string_view, uint64_t)>
void add_columns(WordTable& table, nb::handle words, nb::handle counts) {
  const ArrowInput word_input(words), count_input(counts);
  const std::vector<std::string_view> texts = arrow_strings(*word_input.schema, *word_input.array);
  if (std::string_view(count_input.schema->format) != "L" ||
      static_cast<int64_t>(texts.size()) != count_input.array->length) {
    throw nb::value_error("words and counts must be a string and a uint64 column of the same length");
  }
  for (const std::string_view text : texts) {
    if (find_invalid_utf8(text) < text.size()) throw nb::value_error("a word is not valid UTF-8");
  }
  const auto* values = static_cast<const uint64_t*>(count_input.array->buffers[1]) + count_input.array->offset;
  for (size_t i = 0; i < texts.size(); ++i) queue(table, texts[i], values[i]);
  table.flush();
}

void add_words(WordTable& table, nb::handle words, nb::handle counts, Split split) {
  if (split == Split::words) return add_columns<queue_word<Split::words>>(table, words, counts);
  if (split == Split::space_runs) return add_columns<queue_word<Split::space_runs>>(table, words, counts);
  add_columns<queue_word<Split::lines>>(table, words, counts);
}

template <class Counter>
void add_arrow(Counter& counter, nb::handle array) {
  const ArrowInput input(array);
  const std::vector<std::string_view> texts = arrow_strings(*input.schema, *input.array);
  nb::gil_scoped_release unlocked;
  counter.add(texts, false);
}

}  // namespace

void bind_count(nb::module_& m) {
  nb::exception<CountOverflow>(m, "CountOverflowError", PyExc_OverflowError);
  nb::exception<DamagedSpill>(m, "DamagedSpillError", PyExc_ValueError);

  nb::enum_<Split>(m, "Split")
      .value("words", Split::words)
      .value("space_runs", Split::space_runs)
      .value("lines", Split::lines);

  nb::class_<WordTable>(m, "WordTable")
      .def(nb::init<>())
      .def("__len__", &WordTable::size)
      .def_prop_ro("total", &WordTable::total)
      .def_prop_ro("memory_bytes", &WordTable::memory_bytes)
      .def("columns", &table_columns, nb::kw_only(), nb::arg("ordered") = true)
      .def("add_columns", &add_words, nb::arg("words"), nb::arg("counts"), nb::kw_only(),
           nb::arg("split") = Split::words)
      .def("add_pre_tokens", &add_columns<queue_pre_token>, nb::arg("words"), nb::arg("counts"))
      .def(
          "merge", [](WordTable& table, const WordTable& other) { table.merge(other); }, nb::arg("other"),
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "write_word_forms",
          [](const WordTable& table, nb::bytes opening_path, nb::bytes other_path) {
            const std::string opening = path_of(opening_path), other = path_of(other_path);
            nb::gil_scoped_release unlocked;
            write_word_forms(table, opening, other);
          },
          nb::arg("opening_path"), nb::arg("other_path"))
      .def("scale", &WordTable::scale, nb::arg("factor"), nb::call_guard<nb::gil_scoped_release>());

  nb::class_<CountStatistics>(m, "CountStatistics")
      .def_ro("bytes", &CountStatistics::bytes)
      .def_ro("lines", &CountStatistics::lines)
      .def_ro("marked_lines", &CountStatistics::marked_lines)
      .def_ro("long_lines", &CountStatistics::long_lines)
      .def_ro("invalid_bytes", &CountStatistics::invalid_bytes);

  nb::class_<WordCounter>(m, "WordCounter")
      .def(
          "__init__",
          [](WordCounter* self, unsigned threads, size_t max_line_bytes, std::shared_ptr<const Normalizer> normalizer,
             Split split) { new (self) WordCounter(threads, {max_line_bytes, std::move(normalizer), split}); },
          nb::arg("threads"), nb::kw_only(), nb::arg("max_line_bytes") = 0, nb::arg("normalizer") = nb::none(),
          nb::arg("split") = Split::words)
      .def(
          "add_texts",
          [](WordCounter& counter, nb::sequence texts, uint64_t copies) {
            const TextBatch batch = texts_of(texts);
            nb::gil_scoped_release unlocked;
            counter.add(batch.views, batch.known_valid, copies);
          },
          nb::arg("texts"), nb::arg("copies") = 1)
      .def("add_arrow", &add_arrow<WordCounter>, nb::arg("array"))
      .def_prop_ro("memory_bytes", &WordCounter::memory_bytes)
      .def_prop_ro("statistics", &WordCounter::statistics)
      .def("finish", &WordCounter::finish, nb::call_guard<nb::gil_scoped_release>());

  nb::class_<PreTokenCounter>(m, "PreTokenCounter")
      .def(nb::init<const PreTokenizer&, unsigned>(), nb::arg("pre_tokenizer"), nb::arg("threads"))
      .def(
          "add_texts",
          [](PreTokenCounter& counter, nb::sequence texts) {
            const TextBatch batch = texts_of(texts);
            nb::gil_scoped_release unlocked;
            counter.add(batch.views, batch.known_valid);
          },
          nb::arg("texts"))
      .def("add_arrow", &add_arrow<PreTokenCounter>, nb::arg("array"))
      .def(
          "add_lines",
          [](PreTokenCounter& counter, nb::bytes block) {
            const std::string_view lines(block.c_str(), block.size());
            nb::gil_scoped_release unlocked;
            counter.add_lines(lines);
          },
          nb::arg("block"))
      .def_prop_ro("memory_bytes", &PreTokenCounter::memory_bytes)
      .def_prop_ro("invalid_bytes", &PreTokenCounter::invalid_bytes)
      .def("finish", &PreTokenCounter::finish, nb::call_guard<nb::gil_scoped_release>());

  nb::class_<SpillMerger>(m, "SpillMerger")
      .def(
          "__init__",
          [](SpillMerger* self, const std::vector<nb::bytes>& paths) { new (self) SpillMerger(paths_of(paths)); },
          nb::arg("paths"))
      .def("words", &next_words, nb::arg("rows"), nb::arg("text_bytes"))
      .def("units", &next_units, nb::arg("rows"), nb::arg("text_bytes"));

  nb::class_<WordFormMerger>(m, "WordFormMerger")
      .def(
          "__init__",
          [](WordFormMerger* self, const std::vector<nb::bytes>& opening_paths,
             const std::vector<nb::bytes>& other_paths) {
            new (self) WordFormMerger(paths_of(opening_paths), paths_of(other_paths));
          },
          nb::arg("opening_paths"), nb::arg("other_paths"))
      .def("words", &next_word_forms, nb::arg("rows"), nb::arg("text_bytes"));

  m.def(
      "merge_spill_files",
      [](const std::vector<nb::bytes>& paths, nb::bytes path) {
        const std::vector<std::string> files = paths_of(paths);
        const std::string file = path_of(path);
        nb::gil_scoped_release unlocked;
        merge_spill_files(files, file);
      },
      nb::arg("paths"), nb::arg("path"));
}

}  // namespace piecework
