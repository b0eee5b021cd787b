// Finds the longest string of a set that is a prefix of a text.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace piecework {

class PrefixMatcher {
 public:
  PrefixMatcher() = default;
  explicit PrefixMatcher(std::vector<std::string> strings) : strings_(std::move(strings)) {
    std::erase_if(strings_, [](const std::string& s) { return s.empty(); });
    std::sort(strings_.begin(), strings_.end());
    strings_.erase(std::unique(strings_.begin(), strings_.end()), strings_.end());
    for (const std::string& s : strings_) starts_[static_cast<unsigned char>(s[0])] = true;
  }

  bool empty() const { return strings_.empty(); }
  bool may_start(char byte) const { return starts_[static_cast<unsigned char>(byte)]; }

  // Whether there may be a match anywhere in `text`.
  bool may_be_in(std::string_view text) const {
    bool found = false;
    for (const char byte : text) found |= may_start(byte);
    return found;
  }

  // The length of the longest match at the front of `text`, or 0.
  size_t match(std::string_view text) const {
    if (text.empty() || !may_start(text[0])) return 0;
    size_t longest = 0;
    auto low = strings_.begin(), high = strings_.end();  // the strings that agree with text so far
    for (size_t depth = 0; depth < text.size() && low != high; ++depth) {
      const auto byte = static_cast<unsigned char>(text[depth]);
      const auto at = [depth](const std::string& s) {
        return depth < s.size() ? static_cast<int>(static_cast<unsigned char>(s[depth])) : -1;
      };
      low = std::partition_point(low, high, [&](const std::string& s) { return at(s) < byte; });
      high = std::partition_point(low, high, [&](const std::string& s) { return at(s) == byte; });
      if (low != high && low->size() == depth + 1) longest = depth + 1;
    }
    return longest;
  }

 private:
  std::vector<std::string> strings_;  // sorted, distinct, not empty
  std::array<bool, 256> starts_{};
};

}  // namespace piecework
