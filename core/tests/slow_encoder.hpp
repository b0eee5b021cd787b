// Encoding as SentencePiece defines it, slow and obvious: strings in a list, the best pair merged until none is left.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"
#include "prefix_matcher.hpp"
#include "utf8.hpp"

namespace piecework::tests {

// For models without normalisation rules, unused pieces and symbols with a space in them.
inline std::vector<uint32_t> encode_slowly(const Model& model, std::string_view text) {
  if (text.empty()) return {};
  std::map<std::string, uint32_t> mergeable, known;
  std::vector<std::string> user_defined;
  uint32_t unknown = 0, first_byte = 0;
  for (uint32_t id = 0; id < model.size(); ++id) {
    if (model.is_mergeable(id)) mergeable[model.pieces[id]] = id;
    if (model.types[id] == PieceType::user_defined) user_defined.push_back(model.pieces[id]);
    if (model.types[id] == PieceType::unknown) unknown = id;
    if (model.pieces[id] == "<0x00>") first_byte = id;
    if (model.types[id] != PieceType::unknown && model.types[id] != PieceType::byte) known[model.pieces[id]] = id;
  }
  const PrefixMatcher symbols(user_defined);
  uint64_t replaced = 0;
  std::string normalized = model.add_dummy_prefix ? std::string(kSpaceMarkUtf8) : std::string();
  for (const char c : replace_invalid_utf8(text, replaced)) {
    if (c == ' ') {
      normalized += kSpaceMarkUtf8;
    } else {
      normalized += c;
    }
  }
  struct Part {
    std::string text;
    bool frozen;  // a user-defined symbol
  };
  std::vector<Part> parts;
  for (std::string_view rest = normalized; !rest.empty();) {
    const size_t symbol = symbols.match(rest);
    const size_t length = symbol ? symbol : decode_utf8(rest.data(), rest.data() + rest.size()).length;
    parts.push_back({std::string(rest.substr(0, length)), symbol > 0});
    rest.remove_prefix(length);
  }
  for (;;) {
    size_t best = parts.size();
    float best_score = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      if (parts[i].frozen || parts[i + 1].frozen) continue;
      const auto found = mergeable.find(parts[i].text + parts[i + 1].text);
      if (found == mergeable.end()) continue;
      const float score = model.scores[found->second];
      if (best == parts.size() || score > best_score) {
        best = i;
        best_score = score;
      }
    }
    if (best == parts.size()) break;
    parts[best].text += parts[best + 1].text;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  std::vector<uint32_t> ids;
  bool after_unknown = false;
  for (const Part& part : parts) {
    const auto found = known.find(part.text);
    const bool is_unknown = found == known.end();
    if (!is_unknown) {
      ids.push_back(found->second);
    } else if (model.byte_fallback) {
      for (const char c : part.text) ids.push_back(first_byte + static_cast<unsigned char>(c));
    } else if (!after_unknown) {
      ids.push_back(unknown);
    }
    after_unknown = is_unknown;
  }
  return ids;
}

}  // namespace piecework::tests
