// Encoding as SentencePiece defines it, slow and obvious: strings in a list, the best pair merged until none is left.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/model.hpp"
#include "text/prefix_matcher.hpp"
#include "text/utf8.hpp"

namespace piecework::tests {

// For models without normalisation rules, unused pieces and symbols with a space in them.
class SlowEncoder {
 public:
  explicit SlowEncoder(const Model& model) : model_(model) {
    std::vector<std::string> user_defined;
    for (uint32_t id = 0; id < model.size(); ++id) {
      if (model.is_mergeable(id)) mergeable_[model.pieces[id]] = id;
      if (model.types[id] == PieceType::user_defined) user_defined.push_back(model.pieces[id]);
      if (model.types[id] == PieceType::unknown) unknown_ = id;
      if (model.pieces[id] == "<0x00>") first_byte_ = id;
      if (model.types[id] != PieceType::unknown && model.types[id] != PieceType::byte) known_[model.pieces[id]] = id;
    }
    symbols_ = PrefixMatcher(user_defined);
  }

  std::vector<uint32_t> encode(std::string_view text) const;

 private:
  const Model& model_;
  std::unordered_map<std::string, uint32_t> mergeable_, known_;
  PrefixMatcher symbols_;
  uint32_t unknown_ = 0, first_byte_ = 0;
};

inline std::vector<uint32_t> SlowEncoder::encode(std::string_view text) const {
  if (text.empty()) return {};
  uint64_t replaced = 0;
  std::string normalized = model_.add_dummy_prefix ? std::string(kSpaceMarkUtf8) : std::string();
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
    const size_t symbol = symbols_.match(rest);
    const size_t length = symbol ? symbol : decode_utf8(rest.data(), rest.data() + rest.size()).length;
    parts.push_back({std::string(rest.substr(0, length)), symbol > 0});
    rest.remove_prefix(length);
  }
  for (;;) {
    size_t best = parts.size();
    float best_score = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      if (parts[i].frozen || parts[i + 1].frozen) continue;
      const auto found = mergeable_.find(parts[i].text + parts[i + 1].text);
      if (found == mergeable_.end()) continue;
      const float score = model_.scores[found->second];
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
    const auto found = known_.find(part.text);
    const bool is_unknown = found == known_.end();
    if (!is_unknown) {
      ids.push_back(found->second);
    } else if (model_.byte_fallback) {
      for (const char c : part.text) ids.push_back(first_byte_ + static_cast<unsigned char>(c));
    } else if (!after_unknown) {
      ids.push_back(unknown_);
    }
    after_unknown = is_unknown;
  }
  return ids;
}

}  // namespace piecework::tests
