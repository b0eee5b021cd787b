// The pieces of a model in columns, read from and written to the bytes of its file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"

namespace piecework {

struct Vocabulary {
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<PieceType> types;

  size_t size() const { return texts.size(); }
};

// The pieces in the bytes of a `.model` file. Python's protobuf would make an object for each.
Vocabulary read_pieces(std::string_view file);

// The pieces as SentencePiece writes them: the first part of a `.model` file.
std::string write_pieces(const Vocabulary& vocabulary);

// The `.vocab` file: one line per piece, with its score.
std::string vocab_text(const Vocabulary& vocabulary);

// Normal pieces that share their score with another piece, the highest score first. Whitespace runs and single
// characters are left out.
std::vector<uint32_t> tied_pieces(const Vocabulary& vocabulary);

// The first piece that does not join two earlier ones, where normal pieces are merges, then characters, then others.
// A character is earlier than all merges.
std::optional<uint32_t> first_unjoined(const Vocabulary& vocabulary, size_t merges, size_t characters);

// Characters of normal pieces that are no normal pieces themselves, in order.
std::vector<char32_t> lone_characters(const Vocabulary& vocabulary);

// A JSON object without spaces: the id of each text.
std::string ids_json(const Vocabulary& vocabulary);

}  // namespace piecework
