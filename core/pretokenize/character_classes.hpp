// The classes of characters that patterns name: letters by case, marks, numbers, whitespace, signs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "pretokenize/unicode_classes.hpp"

namespace piecework {

// The bits of a class: generate_unicode_classes.py has the same.
inline constexpr uint8_t kUpper = 1, kLower = 2, kOtherLetter = 4, kMark = 8, kNumber = 16, kSpace = 32, kSymbol = 64,
                         kCjk = 128;
inline constexpr uint8_t kLetter = kUpper | kLower | kOtherLetter;

// Classes by code point, in pages. Equal pages are stored once: 4352 + about 30,000 bytes.
class ClassTable {
 public:
  ClassTable() {
    const size_t entries = std::size(kUnicodeClasses);
    auto all = std::make_unique<uint8_t[]>(kCodePoints);
    for (size_t i = 0; i < entries; ++i) {
      const size_t last = i + 1 < entries ? kUnicodeClasses[i + 1] >> 8 : kCodePoints;
      for (size_t code = kUnicodeClasses[i] >> 8; code < last; ++code) all[code] = kUnicodeClasses[i] & 0xFF;
    }
    for (size_t page = 0; page < kCodePoints / kPage; ++page) {
      const std::string_view content(reinterpret_cast<const char*>(&all[page * kPage]), kPage);
      size_t same = 0;
      while (same < pages_.size() &&
             std::string_view(reinterpret_cast<const char*>(pages_[same].data()), kPage) != content) {
        ++same;
      }
      if (same == pages_.size()) {
        pages_.emplace_back();
        content.copy(reinterpret_cast<char*>(pages_.back().data()), kPage);
      }
      page_of_[page] = static_cast<uint16_t>(same);
    }
    std::copy_n(&all[0], 128, ascii_);
  }
  uint8_t operator[](char32_t code) const { return pages_[page_of_[code / kPage]][code % kPage]; }
  uint8_t ascii(unsigned char byte) const { return ascii_[byte]; }

 private:
  static constexpr size_t kCodePoints = 0x110000, kPage = 256;
  std::vector<std::array<uint8_t, kPage>> pages_;
  uint16_t page_of_[kCodePoints / kPage];
  uint8_t ascii_[128];
};

inline const ClassTable& class_table() {
  static const ClassTable table;
  return table;
}

}  // namespace piecework
