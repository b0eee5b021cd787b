#include "model.hpp"

#include "utf8.hpp"

namespace piecework {

std::string normalized_piece(const Model& model, size_t id) {
  if (model.types[id] == PieceType::unknown || model.types[id] == PieceType::byte) return {};
  std::string text = model.pieces[id];
  if (!model.escape_whitespaces) return text;
  if (text.find(' ') != text.npos) return {};
  for (size_t at = 0; (at = text.find(kSpaceMarkUtf8, at)) != text.npos;)
    text.replace(at, kSpaceMarkUtf8.size(), 1, ' ');
  return text;
}

}  // namespace piecework
