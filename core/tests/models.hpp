// Small models, and normalisation rules compiled as SentencePiece compiles them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"

namespace piecework::tests {

// <unk>, <s>, the user-defined symbols, the bytes if wanted, then pieces with falling scores as training gives them.
inline Model model_of(const std::vector<std::string>& pieces, bool byte_fallback = false,
                      const std::vector<std::string>& symbols = {}) {
  Model model;
  const auto add = [&](std::string piece, float score, PieceType type) {
    model.pieces.push_back(std::move(piece));
    model.scores.push_back(score);
    model.types.push_back(type);
  };
  add("<unk>", 0, PieceType::unknown);
  add("<s>", 0, PieceType::control);
  for (const std::string& symbol : symbols) add(symbol, 0, PieceType::user_defined);
  for (unsigned byte = 0; byte_fallback && byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    add(text, 0, PieceType::byte);
  }
  float score = 0;
  for (const std::string& piece : pieces) add(piece, -score++, PieceType::normal);
  model.byte_fallback = byte_fallback;
  model.remove_extra_whitespaces = false;
  return model;
}

// A double array in which every node has a block of 256 units for its children. So no search for free places is needed.
inline std::string charsmap_of(const std::map<std::string, std::string>& rules) {
  struct Node {
    std::map<unsigned char, size_t> children;
    int64_t value = -1;
  };
  std::vector<Node> nodes(1);
  std::string replacements;
  for (const auto& [from, to] : rules) {
    size_t at = 0;
    for (const char c : from) {
      const auto [child, is_new] = nodes[at].children.try_emplace(static_cast<unsigned char>(c), nodes.size());
      const size_t next = child->second;
      if (is_new) nodes.emplace_back();
      at = next;
    }
    nodes[at].value = static_cast<int64_t>(replacements.size());
    replacements += to + '\0';
  }
  const auto block = [](size_t node) { return static_cast<uint32_t>(256 * (node + 1)); };
  std::vector<uint32_t> units(256 * (nodes.size() + 1), 0);
  units[0] = block(0) << 10;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].value >= 0) units[block(i)] = 0x80000000U | static_cast<uint32_t>(nodes[i].value);
    for (const auto& [byte, child] : nodes[i].children) {
      const uint32_t at = block(i) ^ byte;
      units[at] = (at ^ block(child)) << 10 | (nodes[child].value >= 0 ? 0x100U : 0U) | byte;
    }
  }
  const auto trie_bytes = static_cast<uint32_t>(units.size() * 4);
  std::string charsmap(4 + trie_bytes, '\0');
  std::memcpy(charsmap.data(), &trie_bytes, 4);
  std::memcpy(charsmap.data() + 4, units.data(), trie_bytes);
  return charsmap + replacements;
}

}  // namespace piecework::tests
