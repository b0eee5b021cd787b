// Counts the characters of counted texts, and the runs of newlines and of tabs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "count/word_table.hpp"
#include "text/utf8.hpp"

namespace piecework {

class CharacterCounter {
 public:
  // Adds a text that occurs `count` times. Throws CountOverflow.
  void add(std::string_view text, uint64_t count) {
    const char* const end = text.data() + text.size();
    uint64_t run = 0;
    for (const char* at = text.data(); at < end;) {
      const Decoded character = decode_utf8(at, end);
      at += character.length;
      uint64_t& total = total_of(character.code);
      if (!total) codes_.push_back(character.code);
      total = add_counts(total, count);
      if (character.code != '\n' && character.code != '\t') continue;
      ++run;
      if (at < end && *at == static_cast<char>(character.code)) continue;
      uint64_t& runs = runs_[{character.code, run}];
      runs = add_counts(runs, count);
      run = 0;
    }
  }

  // The characters in the order in which they occur first.
  const std::vector<char32_t>& codes() const { return codes_; }
  uint64_t total(char32_t code) const { return (*pages_[code / kPage])[code % kPage]; }
  // How often a run of a character has this length, by character and length.
  const std::map<std::pair<char32_t, uint64_t>, uint64_t>& runs() const { return runs_; }

 private:
  // A text has characters of few pages.
  static constexpr size_t kPage = 256;
  using Page = std::array<uint64_t, kPage>;

  uint64_t& total_of(char32_t code) {
    std::unique_ptr<Page>& page = pages_[code / kPage];
    if (!page) page = std::make_unique<Page>();
    return (*page)[code % kPage];
  }

  std::array<std::unique_ptr<Page>, 0x110000 / kPage> pages_;
  std::vector<char32_t> codes_;
  std::map<std::pair<char32_t, uint64_t>, uint64_t> runs_;
};

}  // namespace piecework
