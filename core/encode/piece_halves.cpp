#include "encode/piece_halves.hpp"

#include <optional>
#include <string>
#include <utility>

#include "text/text_table.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

// The piece with plain spaces for ▁, as it is in a text.
std::string with_spaces(std::string_view piece) {
  std::string text(piece);
  for (size_t at = 0; (at = text.find(kSpaceMarkUtf8, at)) != text.npos;) text.replace(at, kSpaceMarkUtf8.size(), " ");
  return text;
}

// The two parts of a piece, of which the first is `length` bytes long in the text with plain spaces.
std::pair<std::string_view, std::string_view> cut(std::string_view piece, size_t length) {
  size_t at = 0;
  for (; length > 0; --length) at += piece.substr(at).starts_with(kSpaceMarkUtf8) ? kSpaceMarkUtf8.size() : 1;
  return {piece.substr(0, at), piece.substr(at)};
}

}  // namespace

std::vector<std::array<int64_t, 2>> piece_halves(const Encoder& encoder, std::string_view border) {
  const Model& model = encoder.model();
  std::vector<std::array<int64_t, 2>> halves(model.size(), {-1, -1});
  std::optional<TextTable> ids;
  for (uint32_t id = 0; id < model.size(); ++id) {
    const std::string& piece = model.pieces[id];
    if (model.types[id] != PieceType::normal && model.types[id] != PieceType::unused) continue;
    if (encoder.only_merges(id)) {
      const MergeTrees::Node& node = encoder.trees()[id];
      if (node.left < model.size() && node.right < model.size()) halves[id] = {node.left, node.right};
      continue;
    }
    if (decode_utf8(piece.data(), piece.data() + piece.size()).length == piece.size()) continue;
    if (!ids) ids.emplace(model.pieces, [](uint32_t) { return true; });
    const std::string text = with_spaces(piece);
    const size_t begin = border.size(), end = begin + text.size();
    for (const TextMerge& merge : encoder.merges(std::string(border).append(text).append(border))) {
      if (merge.begin != begin || merge.end != end) continue;
      const auto [left, right] = cut(piece, merge.middle - begin);
      const uint32_t first = ids->find(left), second = ids->find(right);
      if (first != TextTable::kNotFound && second != TextTable::kNotFound) halves[id] = {first, second};
    }
  }
  return halves;
}

}  // namespace piecework
