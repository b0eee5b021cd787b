// The bridge to Python: converts, releases the GIL, maps errors. No algorithm stands here.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <charconv>
#include <chrono>
#include <iterator>
#include <numeric>
#include <optional>
#include <system_error>

#include "count/document_counter.hpp"
#include "count/runs.hpp"
#include "count/word_counter.hpp"
#include "encode/encoder.hpp"
#include "evaluate/evaluator.hpp"
#include "model/vocabulary.hpp"
#include "system/memory.hpp"
#include "text/arrow_strings.hpp"
#include "text/utf8.hpp"
#include "train/trainer.hpp"

namespace nb = nanobind;
using namespace piecework;

namespace {

// Views of the UTF-8 of Python strings or bytes, and what keeps them alive. Strings are not asked for their cached
// UTF-8: that would double the memory of the caller's texts for as long as they live.
class TextBatch {
 public:
  explicit TextBatch(size_t n = 0) { views.reserve(n); }
  void add(nb::handle text) {
    PyObject* object = text.ptr();
    if (PyUnicode_Check(object)) {
      if (PyUnicode_IS_COMPACT_ASCII(object)) {
        keep_.push_back(nb::borrow(text));
        views.emplace_back(static_cast<const char*>(PyUnicode_DATA(object)),
                           static_cast<size_t>(PyUnicode_GET_LENGTH(object)));
        return;
      }
      PyObject* utf8 = PyUnicode_AsUTF8String(object);
      if (!utf8) {
        PyErr_Clear();  // a lone surrogate: its bytes are invalid UTF-8 and become U+FFFD
        utf8 = PyUnicode_AsEncodedString(object, "utf-8", "surrogatepass");
        if (!utf8) throw nb::python_error();
        known_valid = false;
      }
      add_bytes(utf8);
      keep_.push_back(nb::steal(utf8));
    } else if (PyBytes_Check(object)) {
      known_valid = false;
      keep_.push_back(nb::borrow(text));
      add_bytes(object);
    } else {
      throw nb::type_error((std::string("a text must be str or bytes, not ") + Py_TYPE(object)->tp_name).c_str());
    }
  }
  std::vector<std::string_view> views;
  bool known_valid = true;

 private:
  void add_bytes(PyObject* bytes) {
    views.emplace_back(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
  }
  std::vector<nb::object> keep_;
};

TextBatch texts_of(nb::sequence texts) {
  TextBatch batch(nb::len(texts));
  for (nb::handle text : texts) batch.add(text);
  return batch;
}

// Python's ints for ids, made once: a list of ids is then a list of pointers.
PyObject* id_object(uint32_t id) {
  static std::vector<PyObject*> objects;
  while (objects.size() <= id) objects.push_back(PyLong_FromSize_t(objects.size()));
  return Py_NewRef(objects[id]);
}

// Lists of ints cannot form cycles, yet each new list brings the next collection closer: it took a sixth of the time.
class PausedCollector {
 public:
  PausedCollector() : was_enabled_(PyGC_Disable()) {}
  ~PausedCollector() {
    if (was_enabled_) PyGC_Enable();
  }
  PausedCollector(const PausedCollector&) = delete;
  PausedCollector& operator=(const PausedCollector&) = delete;

 private:
  bool was_enabled_;
};

nb::list id_list(const uint32_t* first, const uint32_t* last) {
  PyObject* list = PyList_New(last - first);
  if (!list) throw nb::python_error();
  for (Py_ssize_t i = 0; first + i < last; ++i) PyList_SET_ITEM(list, i, id_object(first[i]));
  return nb::steal<nb::list>(list);
}

// Python's memory in one piece: what a pyarrow buffer is made from.
nb::bytes raw_bytes(const void* data, size_t size) { return nb::bytes(static_cast<const char*>(data), size); }

std::vector<uint32_t> all_indices(const WordTable& table) {
  std::vector<uint32_t> indices(table.size());
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
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
  // What was added to `data` since the last row is the text of this one.
  void end_row(uint64_t count) {
    offsets.push_back(static_cast<int64_t>(data.size()));
    counts.push_back(count);
  }
  std::tuple<nb::bytes, nb::bytes, nb::bytes> buffers() const {
    return {raw_bytes(offsets.data(), offsets.size() * sizeof(int64_t)), raw_bytes(data.data(), data.size()),
            raw_bytes(counts.data(), counts.size() * sizeof(uint64_t))};
  }
};

// Units, with their buckets, a byte each, and flags, a bit each, before the text.
struct UnitColumns : TextColumns {
  std::string buckets, opens;

  void add(const Unit& unit) {
    if (buckets.size() % 8 == 0) opens += '\0';
    opens.back() = static_cast<char>(opens.back() | unit.opens_document << buckets.size() % 8);
    buckets += static_cast<char>(unit.bucket);
    data += unit.bytes;
    end_row(unit.count);
  }
  std::tuple<nb::bytes, nb::bytes, nb::bytes, nb::bytes, nb::bytes> buffers() const {
    return std::tuple_cat(std::tuple{raw_bytes(buckets.data(), buckets.size()), raw_bytes(opens.data(), opens.size())},
                          TextColumns::buffers());
  }
};

// Words, in canonical order or in none. A word that opens a line stands as it is, any other has ▁ in front.
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
  return columns.buffers();
}

// Units, in their order or in none.
auto take_evaluation(DocumentCounter& counter, bool plain, bool ordered) {
  UnitColumns columns;
  {
    nb::gil_scoped_release unlocked;
    const WordTable table = counter.take_evaluation(plain);
    table.visit_each(ordered ? DocumentCounter::sorted_units(table) : all_indices(table),
                     [&](uint32_t index) { columns.add(DocumentCounter::unit_at(table, index)); });
  }
  return columns.buffers();
}

// A path as the system has it, which may be no valid text.
std::string path_of(nb::bytes path) { return {path.c_str(), path.size()}; }

std::vector<std::string> paths_of(const std::vector<nb::bytes>& paths) {
  std::vector<std::string> out;
  for (const nb::bytes& path : paths) out.push_back(path_of(path));
  return out;
}

// The next rows of merged runs, up to so many and so many bytes of text, and at least one; none at the end.
auto next_words(RunMerger& merger, size_t rows, size_t text_bytes) {
  TextColumns columns;
  {
    nb::gil_scoped_release unlocked;
    columns.reserve(rows, text_bytes);
    while (columns.counts.size() < rows && columns.data.size() < text_bytes && merger.next()) {
      columns.data += merger.key();
      columns.end_row(merger.count());
    }
  }
  return columns.buffers();
}

auto next_units(RunMerger& merger, size_t rows, size_t text_bytes) {
  UnitColumns columns;
  {
    nb::gil_scoped_release unlocked;
    columns.reserve(rows, text_bytes);
    while (columns.counts.size() < rows && columns.data.size() < text_bytes && merger.next()) {
      columns.add(DocumentCounter::unit_of_key(merger.key(), merger.count()));
    }
  }
  return columns.buffers();
}

void queue_word(WordTable& table, std::string_view text, uint64_t count) {
  const bool marked = text.starts_with(kSpaceMarkUtf8);
  if (marked) text.remove_prefix(kSpaceMarkUtf8.size());
  if (text.find(' ') != text.npos || text.find('\n') != text.npos || text.find(kSpaceMarkUtf8) != text.npos) {
    throw nb::value_error("a word has no space, no newline, and a ▁ only at its start");
  }
  table.queue(text, !marked, count, text.data() + text.size());
}

// An Arrow array of whatever library, and what keeps it alive.
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

void add_columns(WordTable& table, nb::handle words, nb::handle counts) {
  const ArrowInput word_input(words), count_input(counts);
  const std::vector<std::string_view> texts = arrow_strings(*word_input.schema, *word_input.array);
  if (std::string_view(count_input.schema->format) != "L" ||
      static_cast<int64_t>(texts.size()) != count_input.array->length) {
    throw nb::value_error("words and counts must be a string and a uint64 column of the same length");
  }
  const auto* values = static_cast<const uint64_t*>(count_input.array->buffers[1]) + count_input.array->offset;
  for (size_t i = 0; i < texts.size(); ++i) queue_word(table, texts[i], values[i]);
  table.flush();
}

// Calls `callback(done, wanted)` at most every 50 ms, and lets Ctrl-C through.
Progress progress_to(const std::optional<nb::callable>& callback) {
  auto last = std::chrono::steady_clock::now();
  return [callback, last](uint64_t done, uint64_t wanted) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (done < wanted && now - last < std::chrono::milliseconds(50)) return;
    last = now;
    nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals()) throw nb::python_error();
    if (callback && wanted != UINT64_MAX) (*callback)(done, wanted);
  };
}

TrainingResult train(const WordTable& table, uint64_t vocabulary_size, uint64_t minimum_frequency,
                     float character_coverage, uint32_t max_piece_characters, bool split_by_unicode_script,
                     bool split_by_number, bool split_digits, bool add_dummy_prefix,
                     std::vector<std::string> meta_pieces, const std::string& required_characters,
                     const std::optional<nb::callable>& progress) {
  TrainingOptions options;
  options.character_coverage = character_coverage;
  options.max_piece_characters = max_piece_characters;
  options.split_by_unicode_script = split_by_unicode_script;
  options.split_by_number = split_by_number;
  options.split_digits = split_digits;
  options.add_dummy_prefix = add_dummy_prefix;
  options.meta_pieces = std::move(meta_pieces);
  for (const char *p = required_characters.data(), *last = p + required_characters.size(); p < last;) {
    const Decoded c = decode_utf8(p, last);
    options.required_characters += c.code;
    p += c.length;
  }
  const Progress report = progress_to(progress);
  nb::gil_scoped_release unlocked;
  return train_bpe(table, options, vocabulary_size, minimum_frequency, report);
}

// Appends a str as UTF-8, from its characters: no object is made for the bytes of each of many short texts, and none
// are kept in the str for as long as it lives.
void append_str(std::string& out, nb::handle text) {
  PyObject* object = text.ptr();
  if (!PyUnicode_Check(object)) throw nb::type_error("a text must be str");
  const auto kind = PyUnicode_KIND(object);
  const void* data = PyUnicode_DATA(object);
  const Py_ssize_t length = PyUnicode_GET_LENGTH(object);
  for (Py_ssize_t i = 0; i < length; ++i) {
    const char32_t code = PyUnicode_READ(kind, data, i);
    if (code >= 0xD800 && code < 0xE000) throw nb::value_error("a text has a lone surrogate, which UTF-8 cannot hold");
    append_utf8(out, code);
  }
}

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
  return raw_bytes(lines.data(), lines.size());
}

nb::list text_list(const Vocabulary& vocabulary) {
  nb::list out;
  for (const std::string& text : vocabulary.texts) out.append(nb::str(text.data(), text.size()));
  return out;
}

template <auto write, class From>
nb::bytes written(const From& from) {
  std::string bytes;
  {
    nb::gil_scoped_release unlocked;
    bytes = write(from);
  }
  return raw_bytes(bytes.data(), bytes.size());
}

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

template <class T>
nb::bytes column_bytes(const std::vector<T>& values) {
  return raw_bytes(values.data(), values.size() * sizeof(T));
}

template <class T>
std::span<const T> column_of(const nb::bytes& bytes) {
  return {static_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

// So many numbers as bytes, which `fill` writes while others run.
template <class Number, class Fill>
nb::bytes filled_bytes(size_t size, Fill&& fill) {
  nb::bytes bytes =
      nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size * sizeof(Number))));
  if (!bytes.is_valid()) throw nb::python_error();
  nb::gil_scoped_release unlocked;
  fill(reinterpret_cast<Number*>(PyBytes_AS_STRING(bytes.ptr())));
  return bytes;
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

nb::list encode(const Encoder& encoder, nb::handle text) {
  TextBatch batch;
  batch.add(text);
  std::vector<uint32_t> ids;
  {
    nb::gil_scoped_release unlocked;
    encoder.encode(batch.views[0], ids);
  }
  return id_list(ids.data(), ids.data() + ids.size());
}

nb::list encode_batch(const Encoder& encoder, nb::sequence texts, unsigned threads) {
  const TextBatch batch = texts_of(texts);
  std::vector<Encoder::Batch> results;
  {
    nb::gil_scoped_release unlocked;
    results = encoder.encode_batch(batch.views, threads);
  }
  nb::list out;
  const PausedCollector paused;
  for (Encoder::Batch& result : results) {
    size_t begin = 0;
    for (const size_t end : result.ends) {
      out.append(id_list(result.ids.data() + begin, result.ids.data() + end));
      begin = end;
    }
    result = {};
  }
  return out;
}

// Turns places in the bytes of a text into places in its characters.
class CharacterPlaces {
 public:
  explicit CharacterPlaces(std::string_view utf8) : places_(utf8.size() + 1) {
    uint32_t characters = 0;
    for (size_t i = 0; i < utf8.size(); ++i) {
      places_[i] = characters;
      if (i + 1 == utf8.size() || !is_continuation(static_cast<unsigned char>(utf8[i + 1]))) ++characters;
    }
    places_[utf8.size()] = characters;
  }
  uint32_t operator[](size_t byte) const { return places_[byte]; }

 private:
  std::vector<uint32_t> places_;
};

// Ids, starts and ends of the tokens of a text as columns of uint32, places in characters.
std::tuple<nb::bytes, nb::bytes, nb::bytes> encode_columns(const Encoder& encoder, nb::str text) {
  TextBatch batch;
  batch.add(text);
  std::vector<uint32_t> ids, starts, ends;
  {
    nb::gil_scoped_release unlocked;
    const CharacterPlaces places(batch.views[0]);
    for (const TokenSpan& span : encoder.encode_spans(batch.views[0])) {
      ids.push_back(span.id);
      starts.push_back(places[span.begin]);
      ends.push_back(places[span.end]);
    }
  }
  return {column_bytes(ids), column_bytes(starts), column_bytes(ends)};
}

// Piece, unit, start, middle and end of each merge, as columns of uint32; places in characters.
std::tuple<nb::bytes, nb::bytes, nb::bytes, nb::bytes, nb::bytes> merge_columns(const Encoder& encoder, nb::str text) {
  TextBatch batch;
  batch.add(text);
  std::vector<uint32_t> pieces, units, starts, middles, ends;
  {
    nb::gil_scoped_release unlocked;
    const CharacterPlaces places(batch.views[0]);
    for (const TextMerge& merge : encoder.merges(batch.views[0])) {
      pieces.push_back(merge.piece);
      units.push_back(merge.unit);
      starts.push_back(places[merge.begin]);
      middles.push_back(places[merge.middle]);
      ends.push_back(places[merge.end]);
    }
  }
  return {column_bytes(pieces), column_bytes(units), column_bytes(starts), column_bytes(middles), column_bytes(ends)};
}

// (id, piece, start, end) of each token; places are in characters of a str, in bytes of a bytes.
nb::list encode_spans(const Encoder& encoder, nb::handle text) {
  TextBatch batch;
  batch.add(text);
  const std::string_view utf8 = batch.views[0];
  std::vector<TokenSpan> spans;
  {
    nb::gil_scoped_release unlocked;
    spans = encoder.encode_spans(utf8);
    if (PyUnicode_Check(text.ptr())) {
      // Places never go back by more than one token, so one walk over the text turns bytes into characters.
      size_t byte = 0, character = 0;
      const auto character_at = [&](size_t target) {
        for (; byte > target; --byte) character -= !is_continuation(static_cast<unsigned char>(utf8[byte - 1]));
        for (; byte < target; ++byte) character += !is_continuation(static_cast<unsigned char>(utf8[byte]));
        return character;
      };
      for (TokenSpan& span : spans) {
        span.begin = character_at(span.begin);
        span.end = character_at(span.end);
      }
    }
  }
  nb::list out;
  for (const TokenSpan& span : spans) out.append(nb::make_tuple(span.id, span.piece, span.begin, span.end));
  return out;
}

}  // namespace

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);  // a tokenizer that lives until the process ends is no mistake
  m.doc() = "The native core of Piecework: counting, training, encoding. Use the piecework package instead.";

  nb::exception<ModelError>(m, "CoreModelError", PyExc_ValueError);
  nb::exception<CountOverflow>(m, "CountOverflowError", PyExc_OverflowError);
  nb::exception<DamagedRun>(m, "DamagedRunError", PyExc_ValueError);
  // A file that cannot be opened, read or written.
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::system_error& error) {
      const std::string reason = error.code().message();
      PyErr_SetObject(PyExc_OSError, nb::make_tuple(error.code().value(), reason).ptr());
    }
  });

  nb::class_<WordTable>(m, "WordTable")
      .def(nb::init<>())
      .def("__len__", &WordTable::size)
      .def_prop_ro("total", &WordTable::total)
      .def_prop_ro("memory_bytes", &WordTable::memory_bytes)
      .def("columns", &table_columns, nb::kw_only(), nb::arg("ordered") = true)
      .def("add_columns", &add_columns, nb::arg("words"), nb::arg("counts"))
      .def(
          "merge", [](WordTable& table, const WordTable& other) { table.merge(other); }, nb::arg("other"),
          nb::call_guard<nb::gil_scoped_release>())
      .def("scale", &WordTable::scale, nb::arg("factor"), nb::call_guard<nb::gil_scoped_release>());

  nb::class_<CountStatistics>(m, "CountStatistics")
      .def_ro("bytes", &CountStatistics::bytes)
      .def_ro("lines", &CountStatistics::lines)
      .def_ro("marked_lines", &CountStatistics::marked_lines)
      .def_ro("long_lines", &CountStatistics::long_lines)
      .def_ro("invalid_bytes", &CountStatistics::invalid_bytes);

  nb::class_<WordCounter>(m, "WordCounter")
      .def(nb::init<unsigned, size_t>(), nb::arg("threads"), nb::arg("max_line_bytes"))
      .def(
          "add_texts",
          [](WordCounter& counter, nb::sequence texts) {
            const TextBatch batch = texts_of(texts);
            nb::gil_scoped_release unlocked;
            counter.add(batch.views, batch.known_valid);
          },
          nb::arg("texts"))
      .def(
          "add_arrow",
          [](WordCounter& counter, nb::handle array) {
            const ArrowInput input(array);
            const std::vector<std::string_view> texts = arrow_strings(*input.schema, *input.array);
            nb::gil_scoped_release unlocked;
            counter.add(texts, false);
          },
          nb::arg("array"))
      .def_prop_ro("memory_bytes", &WordCounter::memory_bytes)
      .def_prop_ro("statistics", &WordCounter::statistics)
      .def("finish", &WordCounter::finish, nb::call_guard<nb::gil_scoped_release>());

  nb::class_<DocumentCounter>(m, "DocumentCounter")
      .def(nb::init<>())
      .def(
          "add_training",
          [](DocumentCounter& counter, nb::sequence documents, uint64_t copies) {
            const TextBatch batch = texts_of(documents);
            nb::gil_scoped_release unlocked;
            counter.add_training(batch.views, batch.known_valid, copies);
          },
          nb::arg("documents"), nb::arg("copies"))
      .def(
          "add_evaluation",
          [](DocumentCounter& counter, nb::sequence documents, const std::vector<uint8_t>& buckets, nb::bytes prefix) {
            const TextBatch batch = texts_of(documents);
            const std::string_view before(prefix.c_str(), prefix.size());
            nb::gil_scoped_release unlocked;
            counter.add_evaluation(batch.views, buckets, before);
          },
          nb::arg("documents"), nb::arg("buckets"), nb::arg("prefix"))
      .def_prop_ro("memory_bytes", &DocumentCounter::memory_bytes)
      .def_prop_ro("statistics", &DocumentCounter::statistics)
      .def("take_training", &DocumentCounter::take_training)
      .def("take_evaluation", &take_evaluation, nb::arg("plain"), nb::kw_only(), nb::arg("ordered") = true)
      .def(
          "write_training",
          [](DocumentCounter& counter, nb::bytes path) {
            const std::string file = path_of(path);
            nb::gil_scoped_release unlocked;
            return counter.write_training(file);
          },
          nb::arg("path"))
      .def(
          "write_evaluation",
          [](DocumentCounter& counter, nb::bytes path, bool plain) {
            const std::string file = path_of(path);
            nb::gil_scoped_release unlocked;
            return counter.write_evaluation(plain, file);
          },
          nb::arg("path"), nb::arg("plain"));

  nb::class_<RunMerger>(m, "RunMerger")
      .def(
          "__init__",
          [](RunMerger* self, const std::vector<nb::bytes>& paths) { new (self) RunMerger(paths_of(paths)); },
          nb::arg("paths"))
      .def("words", &next_words, nb::arg("rows"), nb::arg("text_bytes"))
      .def("units", &next_units, nb::arg("rows"), nb::arg("text_bytes"));

  m.def(
      "merge_runs",
      [](const std::vector<nb::bytes>& paths, nb::bytes path) {
        const std::vector<std::string> files = paths_of(paths);
        const std::string file = path_of(path);
        nb::gil_scoped_release unlocked;
        merge_runs(files, file);
      },
      nb::arg("paths"), nb::arg("path"));

  nb::class_<TrainingResult>(m, "TrainingResult")
      .def_prop_ro("merges",
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

  m.def("train", &train, nb::arg("words"), nb::kw_only(), nb::arg("vocabulary_size"), nb::arg("minimum_frequency"),
        nb::arg("character_coverage"), nb::arg("max_piece_characters"), nb::arg("split_by_unicode_script"),
        nb::arg("split_by_number"), nb::arg("split_digits"), nb::arg("add_dummy_prefix"), nb::arg("meta_pieces"),
        nb::arg("required_characters"), nb::arg("progress") = nb::none());

  m.def("count_lines", &count_lines, nb::arg("counts"));
  m.def("return_freed_memory", &return_freed_memory, nb::call_guard<nb::gil_scoped_release>());

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
                   [](const Vocabulary& vocabulary) { return raw_bytes(vocabulary.types.data(), vocabulary.size()); })
      .def("to_bytes", &written<write_pieces, Vocabulary>)
      .def("vocab_text", &written<vocab_text, Vocabulary>)
      .def("ids_json", &written<ids_json, Vocabulary>)
      .def("tied_pieces", &tied_pieces)
      .def("lone_characters", [](const Vocabulary& vocabulary) {
        std::string text;
        for (const char32_t code : lone_characters(vocabulary)) append_utf8(text, code);
        return text;
      });

  nb::class_<Encoder>(m, "Encoder")
      .def(
          "__init__",
          [](Encoder* self, const Vocabulary& vocabulary, nb::bytes charsmap, bool add_dummy_prefix,
             bool remove_extra_whitespaces, bool escape_whitespaces, bool treat_whitespace_as_suffix,
             bool byte_fallback, std::string unknown_surface) {
            const std::string_view rules(charsmap.c_str(), charsmap.size());
            nb::gil_scoped_release unlocked;
            new (self) Encoder(Model{vocabulary.texts, vocabulary.scores, vocabulary.types, std::string(rules),
                                     add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces,
                                     treat_whitespace_as_suffix, byte_fallback, std::move(unknown_surface)});
          },
          nb::arg("vocabulary"), nb::kw_only(), nb::arg("charsmap"), nb::arg("add_dummy_prefix"),
          nb::arg("remove_extra_whitespaces"), nb::arg("escape_whitespaces"), nb::arg("treat_whitespace_as_suffix"),
          nb::arg("byte_fallback"), nb::arg("unknown_surface"))
      .def("encode", &encode, nb::arg("text"))
      .def("encode_batch", &encode_batch, nb::arg("texts"), nb::arg("threads"))
      .def("encode_spans", &encode_spans, nb::arg("text"))
      .def_prop_ro("newlines_stand_alone", &Encoder::newlines_stand_alone)
      .def("encode_columns", &encode_columns, nb::arg("text"))
      .def("merge_columns", &merge_columns, nb::arg("text"))
      .def("merges_json", &written<merges_json, Encoder>)
      .def(
          "whole_pieces",
          [](const Encoder& encoder, std::string before, std::string after, std::vector<uint32_t> ids_before,
             std::vector<uint32_t> ids_after, bool plain_spaces) {
            std::string whole;
            {
              nb::gil_scoped_release unlocked;
              whole = whole_pieces(encoder, {std::move(before), std::move(after), std::move(ids_before),
                                             std::move(ids_after), plain_spaces});
            }
            return raw_bytes(whole.data(), whole.size());
          },
          nb::kw_only(), nb::arg("before"), nb::arg("after"), nb::arg("ids_before"), nb::arg("ids_after"),
          nb::arg("plain_spaces"))
      .def(
          "decode",
          [](const Encoder& encoder, const std::vector<uint32_t>& ids) {
            std::string text;
            {
              nb::gil_scoped_release unlocked;
              text = encoder.decode(ids);
            }
            return text;
          },
          nb::arg("ids"));

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
