// Bindings for counting documents: the placer, which decides how each document is used, and the counter.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <utility>

#include "bindings/arrow.hpp"
#include "bindings/bindings.hpp"
#include "bindings/indices.hpp"
#include "bindings/text.hpp"
#include "count/document_counter.hpp"
#include "text/arrow_strings.hpp"
#include "text/byte_scan.hpp"
#include "text/json_documents.hpp"
#include "text/line_documents.hpp"
#include "text/normalizer.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

// Units, sorted or in no order.
auto take_evaluation(DocumentCounter& counter, bool plain, bool ordered) {
  UnitColumns columns;
  {
    nb::gil_scoped_release unlocked;
    const WordTable table = counter.take_evaluation(plain);
    table.visit_each(ordered ? DocumentCounter::sorted_units(table) : all_indices(table),
                     [&](uint32_t index) { columns.add(DocumentCounter::unit_at(table, index)); });
  }
  return columns.take();
}

// Takes documents as Python strings, as bytes, or as an Arrow array of UTF-8 that was checked.
PlacedBatch add_placed(DocumentCounter& counter, nb::handle documents, const Placer& placer, nb::bytes prefix,
                       std::optional<std::tuple<bool, bool, uint64_t>> best, uint64_t long_enough) {
  BestPassage passage;
  if (best) passage = {true, std::get<0>(*best), std::get<1>(*best), std::get<2>(*best)};
  const std::string_view before(prefix.c_str(), prefix.size());
  if (nb::hasattr(documents, "__arrow_c_array__")) {
    const ArrowInput input(documents);
    const std::vector<std::string_view> texts = arrow_strings(*input.schema, *input.array);
    nb::gil_scoped_release unlocked;
    return counter.add_placed(texts, true, placer, before, passage, long_enough);
  }
  const TextBatch batch = texts_of(nb::cast<nb::sequence>(documents));
  nb::gil_scoped_release unlocked;
  return counter.add_placed(batch.views, batch.known_valid, placer, before, passage, long_enough);
}

// A pre-tokenizer in Python: a function from a str to the list of its parts, which together are the text.
CutText cut_by(nb::object split) {
  // The last copy may go while the GIL is released.
  std::shared_ptr<nb::object> function(new nb::object(std::move(split)), [](nb::object* object) {
    nb::gil_scoped_acquire locked;
    delete object;
  });
  return [function = std::move(function)](std::string_view text, std::vector<size_t>& ends) {
    nb::gil_scoped_acquire locked;
    const nb::object parts = (*function)(nb::str(text.data(), text.size()));
    size_t end = 0;
    for (nb::handle part : nb::cast<nb::list>(parts)) {
      Py_ssize_t size = 0;
      if (!PyUnicode_AsUTF8AndSize(part.ptr(), &size)) throw nb::python_error();
      if (size) ends.push_back(end += static_cast<size_t>(size));
    }
    if (end != text.size()) throw nb::value_error("the parts of a text are not the text");
  };
}

auto side_of(const PlacedSide& side) { return std::tuple{side.documents, side.characters, side.bytes}; }

// The offsets and the text of a large_utf8 column, and the number of newlines of the block; nothing if the block is not
// valid UTF-8, or `find` finds nothing.
template <class Find>
std::optional<std::tuple<View<int64_t>, View<uint8_t>, size_t>> documents_of(nb::bytes block, const Find& find) {
  std::optional<LineDocuments> found;
  {
    const std::string_view text(block.c_str(), block.size());
    nb::gil_scoped_release unlocked;
    if (find_invalid_utf8(text) == text.size()) found = find(text);
  }
  if (!found) return std::nullopt;
  return std::tuple{to_view<int64_t>(std::move(found->offsets)), to_view<uint8_t>(std::move(found->data)),
                    found->newlines};
}

auto line_documents(nb::bytes block) {
  return documents_of(block, [](std::string_view text) { return std::optional(find_line_documents(text)); });
}

size_t count_block_newlines(nb::bytes block) {
  const std::string_view text(block.c_str(), block.size());
  nb::gil_scoped_release unlocked;
  return count_newlines(text);
}

auto json_documents(nb::bytes block, const std::string& field, size_t longest) {
  return documents_of(block, [&](std::string_view text) { return find_json_documents(text, field, longest); });
}

}  // namespace

void bind_documents(nb::module_& m) {
  nb::class_<Placer>(m, "Placer")
      .def(
          "__init__",
          [](Placer* self, uint64_t seed, uint64_t last_not_evaluated, uint64_t last_trainable, uint64_t last_of_more,
             uint64_t more_copies, uint64_t fewer_copies) {
            new (self) Placer(seed, {last_not_evaluated, last_trainable, last_of_more, more_copies, fewer_copies});
          },
          nb::arg("seed"), nb::kw_only(), nb::arg("last_not_evaluated"), nb::arg("last_trainable"),
          nb::arg("last_of_more"), nb::arg("more_copies"), nb::arg("fewer_copies"))
      .def(
          "place",
          [](const Placer& placer, nb::bytes text) {
            const Placement found = placer.place({text.c_str(), text.size()});
            return std::tuple{found.copies, found.evaluation, found.bucket, found.rank};
          },
          nb::arg("text"));

  nb::class_<PlacedBatch>(m, "PlacedBatch")
      .def_prop_ro("train", [](const PlacedBatch& batch) { return side_of(batch.train); })
      .def_prop_ro("eval", [](const PlacedBatch& batch) { return side_of(batch.eval); })
      .def_prop_ro("unused", [](const PlacedBatch& batch) { return side_of(batch.unused); })
      .def_ro("train_copies", &PlacedBatch::train_copies)
      .def_ro("passages", &PlacedBatch::passages);

  m.def("count_newlines", &count_block_newlines, nb::arg("block"));
  m.def("line_documents", &line_documents, nb::arg("block"));
  m.def("json_documents", &json_documents, nb::arg("block"), nb::arg("field"), nb::kw_only(), nb::arg("longest"));

  nb::class_<DocumentCounter>(m, "DocumentCounter")
      .def(
          "__init__",
          [](DocumentCounter* self, size_t max_line_bytes, std::shared_ptr<const Normalizer> normalizer, Split split,
             const PreTokenizer* pre_tokenizer, std::optional<nb::callable> cut) {
            if (pre_tokenizer) {
              new (self) DocumentCounter(*pre_tokenizer);
            } else if (cut) {
              new (self) DocumentCounter(cut_by(std::move(*cut)));
            } else {
              new (self) DocumentCounter(CountSettings{max_line_bytes, std::move(normalizer), split});
            }
          },
          nb::kw_only(), nb::arg("max_line_bytes") = 0, nb::arg("normalizer") = nb::none(),
          nb::arg("split") = Split::words, nb::arg("pre_tokenizer") = nb::none(), nb::arg("cut") = nb::none())
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
      .def("add_placed", &add_placed, nb::arg("documents"), nb::arg("placer"), nb::kw_only(), nb::arg("prefix"),
           nb::arg("best").none(), nb::arg("long_enough"))
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
}

}  // namespace piecework
