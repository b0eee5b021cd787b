// Ids back to text, as SentencePiece does it.
#include "encode/encoder.hpp"
#include "text/utf8.hpp"

namespace piecework {

std::string Encoder::decode(const std::vector<uint32_t>& ids) const {
  std::string text, bytes;
  const auto put_bytes = [&] {
    uint64_t replaced = 0;
    text += replace_invalid_utf8(bytes, replaced);
    bytes.clear();
  };
  const bool strips = model_.add_dummy_prefix || model_.remove_extra_whitespaces;
  bool at_start = true, stripped = false;
  for (const uint32_t id : ids) {
    if (id >= model_.size()) {
      throw std::out_of_range("id " + std::to_string(id) + " is not in the vocabulary of " +
                              std::to_string(model_.size()) + " pieces");
    }
    const PieceType type = model_.types[id];
    if (type == PieceType::byte) {
      bytes += static_cast<char>(byte_of(model_.pieces[id]));
      continue;
    }
    put_bytes();
    if (stripped || !text.empty()) at_start = false;
    stripped = false;
    if (type == PieceType::control) continue;
    if (type == PieceType::unknown) {
      text += model_.unknown_surface;
      continue;
    }
    std::string_view piece = model_.pieces[id];
    if (at_start && strips && piece.starts_with(kSpaceMarkUtf8)) {
      piece.remove_prefix(kSpaceMarkUtf8.size());
      // If extra whitespace is removed, all leading spaces are dropped; otherwise only the one that encoding added.
      stripped = !model_.remove_extra_whitespaces;
    }
    while (!piece.empty()) {
      const size_t mark = piece.find(kSpaceMarkUtf8);
      text += piece.substr(0, mark);
      if (mark == piece.npos) break;
      text += ' ';
      piece.remove_prefix(mark + kSpaceMarkUtf8.size());
    }
  }
  put_bytes();
  return text;
}

}  // namespace piecework
