// The pieces of a model in columns: from and to the bytes of its file, and how they are made of one another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/encoder.hpp"
#include "model/model.hpp"

namespace piecework {

struct Vocabulary {
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<PieceType> types;

  size_t size() const { return texts.size(); }
};

// The pieces in the bytes of a `.model` file. Python's protobuf would hand them out as
// objects, one by one.
Vocabulary read_pieces(std::string_view file);

// The pieces as SentencePiece writes them into a `.model` file, before all else that is in there.
std::string write_pieces(const Vocabulary& vocabulary);

// A line for each piece with its score.
std::string vocab_text(const Vocabulary& vocabulary);

// Normal pieces other than whitespace runs and characters that share their score with another: the highest score first.
std::vector<uint32_t> tied_pieces(const Vocabulary& vocabulary);

// Characters of normal pieces that are no normal pieces themselves, in order.
std::vector<char32_t> lone_characters(const Vocabulary& vocabulary);

// As JSON, without spaces: an object with the ids by text.
std::string ids_json(const Vocabulary& vocabulary);

// As JSON, a list of pairs of texts: every split of a normal piece into two, the highest score first; of one score, the
// longest left part. Pieces that no text can have, since a space stands in them, have no splits.
std::string merges_json(const Encoder& encoder);

// What stands around a piece in a text, and the ids that it has there.
struct Frame {
  std::string before, after;
  std::vector<uint32_t> ids_before, ids_after;
  bool plain_spaces;  // in the piece, for ▁
};

// For each piece whether it is one token in the frame; a byte each.
std::string whole_pieces(const Encoder& encoder, const Frame& frame);

}  // namespace piecework
