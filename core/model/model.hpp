// A SentencePiece model as the encoder needs it: the pieces, and the settings that change how they are used.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/normalizer.hpp"

namespace piecework {

enum class PieceType : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct Model {
  std::vector<std::string> pieces;
  std::vector<float> scores;
  std::vector<PieceType> types;
  std::string charsmap;  // normalisation rules as SentencePiece compiles them; empty: none
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool treat_whitespace_as_suffix = false;
  bool byte_fallback = false;
  std::string unknown_surface = " \xE2\x81\x87 ";

  size_t size() const { return pieces.size(); }
  // Types of pieces that merging can make.
  bool is_mergeable(size_t id) const {
    return types[id] == PieceType::normal || types[id] == PieceType::user_defined || types[id] == PieceType::unused;
  }
};

// The normalizer of a text. Throws ModelError if the rules are damaged.
Normalizer make_normalizer(const Model& model);
// The normalizer of a counted unit: without the dummy prefix, and a ▁ stays a ▁.
Normalizer make_unit_normalizer(const Model& model);

// The piece as it appears in normalised text, which has plain spaces for ▁; empty if it never appears there.
std::string normalized_piece(const Model& model, size_t id);

// The byte that a piece <0xNN> stands for, or -1 if the text has another form.
int byte_of(std::string_view piece);

struct ModelError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace piecework
