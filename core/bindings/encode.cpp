// Encoding: text to tokens and back.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/ids.hpp"
#include "bindings/packed_ids.hpp"
#include "bindings/text.hpp"
#include "encode/encoder.hpp"
#include "encode/merge_list.hpp"
#include "encode/piece_halves.hpp"
#include "encode/token_columns.hpp"
#include "encode/whole_pieces.hpp"
#include "model/vocabulary.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

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

// Turns offsets in the bytes of a text into offsets in its characters.
class CharacterOffsets {
 public:
  explicit CharacterOffsets(std::string_view utf8) : offsets_(utf8.size() + 1) {
    uint32_t characters = 0;
    for (size_t i = 0; i < utf8.size(); ++i) {
      offsets_[i] = characters;
      if (i + 1 == utf8.size() || !is_continuation(static_cast<unsigned char>(utf8[i + 1]))) ++characters;
    }
    offsets_[utf8.size()] = characters;
  }
  uint32_t operator[](size_t byte) const { return offsets_[byte]; }

 private:
  std::vector<uint32_t> offsets_;
};

using Column = Array<uint32_t>;

// Ids, starts and ends of the tokens of all texts, one text after the other, and where the tokens of each text end.
nb::tuple encode_columns(const Encoder& encoder, nb::sequence texts) {
  const TextBatch batch = texts_of(texts);
  TokenColumns columns;
  std::vector<int64_t> text_ends;
  {
    nb::gil_scoped_release unlocked;
    for (const std::string_view text : batch.views) {
      append_tokens(encoder, text, columns);
      text_ends.push_back(static_cast<int64_t>(columns.ids.size()));
    }
  }
  return nb::make_tuple(to_array(std::move(columns.ids)), to_array(std::move(columns.starts)),
                        to_array(std::move(columns.ends)), to_array(std::move(text_ends)));
}

// Piece, unit, start, middle and end of each merge of a text; offsets are in characters.
using MergeColumns = std::tuple<Column, Column, Column, Column, Column>;

MergeColumns merge_columns(const Encoder& encoder, nb::str text) {
  TextBatch batch;
  batch.add(text);
  std::vector<uint32_t> pieces, units, starts, middles, ends;
  {
    nb::gil_scoped_release unlocked;
    const CharacterOffsets offsets(batch.views[0]);
    for (const TextMerge& merge : encoder.merges(batch.views[0])) {
      pieces.push_back(merge.piece);
      units.push_back(merge.unit);
      starts.push_back(offsets[merge.begin]);
      middles.push_back(offsets[merge.middle]);
      ends.push_back(offsets[merge.end]);
    }
  }
  return {to_array(std::move(pieces)), to_array(std::move(units)), to_array(std::move(starts)),
          to_array(std::move(middles)), to_array(std::move(ends))};
}

// (id, piece, start, end) of each token. Offsets count the characters of a str, and the bytes of a bytes object.
nb::list encode_spans(const Encoder& encoder, nb::handle text) {
  TextBatch batch;
  batch.add(text);
  const std::string_view utf8 = batch.views[0];
  std::vector<TokenSpan> spans;
  {
    nb::gil_scoped_release unlocked;
    spans = encoder.encode_spans(utf8);
    if (PyUnicode_Check(text.ptr())) {
      // Offsets never go back by more than one token, so one walk over the text turns bytes into characters.
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

// The text as the model sees it, with ▁ for spaces. Also the offset in `text` for each of its bytes and for its end.
std::pair<nb::bytes, std::vector<size_t>> normalize(const Encoder& encoder, nb::bytes text) {
  std::string normalized, escaped;
  std::vector<size_t> origins, offsets;
  {
    nb::gil_scoped_release unlocked;
    encoder.normalizer().normalize({text.c_str(), text.size()}, normalized, &origins);
    for (size_t i = 0; i < normalized.size(); ++i) {
      const bool is_space = normalized[i] == ' ' && encoder.model().escape_whitespaces;
      const std::string_view bytes = is_space ? kSpaceMarkUtf8 : std::string_view(&normalized[i], 1);
      escaped += bytes;
      offsets.insert(offsets.end(), bytes.size(), origins[i]);
    }
    offsets.push_back(origins.back());
  }
  return {nb::bytes(escaped.data(), escaped.size()), std::move(offsets)};
}

}  // namespace

void bind_encode(nb::module_& m) {
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
      .def("encode_batch", &encode_batch<Encoder>, nb::arg("texts"), nb::arg("threads"))
      .def("encode_packed", &encode_packed<Encoder>, nb::arg("texts"), nb::arg("packers"), nb::arg("threads"))
      .def("encode_spans", &encode_spans, nb::arg("text"))
      .def("normalize", &normalize, nb::arg("text"))
      .def_prop_ro("newlines_stand_alone", &Encoder::newlines_stand_alone)
      .def("encode_columns", &encode_columns, nb::arg("texts"))
      .def("merge_columns", &merge_columns, nb::arg("text"))
      .def("merges_json", &written<merges_json, Encoder>)
      .def(
          "piece_halves",
          [](const Encoder& encoder, const std::string& border) {
            std::vector<std::array<int64_t, 2>> halves;
            {
              nb::gil_scoped_release unlocked;
              halves = piece_halves(encoder, border);
            }
            const size_t size = halves.size();
            return to_array<int64_t>(std::move(halves), {size, 2});
          },
          nb::kw_only(), nb::arg("border"))
      .def(
          "whole_pieces",
          [](const Encoder& encoder, std::string before, std::string after, std::vector<uint32_t> ids_before,
             std::vector<uint32_t> ids_after, bool plain_spaces) {
            std::vector<uint8_t> whole;
            {
              nb::gil_scoped_release unlocked;
              whole = whole_pieces(encoder, {std::move(before), std::move(after), std::move(ids_before),
                                             std::move(ids_after), plain_spaces});
            }
            // Not an array: an array imports numpy, which takes longer than the rest of saving a tokenizer.
            return nb::bytes(whole.data(), whole.size());
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
}

}  // namespace piecework
