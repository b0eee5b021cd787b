// Finds the starts of pre-tokens in 64 bytes together, as bit masks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "pretokenize/byte_classes.hpp"
#include "pretokenize/scanner.hpp"

namespace piecework {

// The bits from `first` to before `last`. `last` is less than 64, or all bits from `first` on are set.
inline uint64_t bit_range(size_t first, size_t last) {
  return (last < 64 ? (uint64_t{1} << last) - 1 : ~uint64_t{0}) >> first << first;
}

// Where pre-tokens start in the block of up to 64 bytes at a place where a pre-token starts.
struct Starts {
  uint64_t starts;  // not the one at the start of the block
  bool to_end;      // the last one of them ends with the text
};

// Finds the starts of pre-tokens in 64 bytes together, with a bit for each byte. It gives only those starts that no
// byte after the block can change, and none from the first character on that needs a closer look (`cut`): for these,
// the functions of Scanner go on.
template <PreTokenizerRules::Family kFamily, PreTokenizer::Unit kUnit>
Starts find_starts(const Scanner& scanner, const char* p) {
  constexpr bool kGpt2 = kFamily == PreTokenizerRules::Family::gpt2,
                 kCased = kFamily == PreTokenizerRules::Family::o200k;
  const PreTokenizerRules& rules = scanner.rules;
  const auto left = static_cast<size_t>(scanner.last - p);
  char copy[64] = {};
  const char* block = p;
  if (left < 64) {
    std::memcpy(copy, p, left);
    block = copy;
  }
  const ByteClasses classes = byte_classes(block);
  bool to_end = left <= 64;
  size_t size = std::min<size_t>(left, 64);
  uint64_t inside = bit_range(0, size);
  const auto cut = [&](uint64_t odd) {
    if (!(odd & inside)) return;
    size = static_cast<size_t>(std::countr_zero(odd));
    inside = bit_range(0, size);
    to_end = false;
  };

  uint64_t lower = classes.lower, upper = classes.upper, continuation = 0, both = 0;
  if (classes.high & inside) {
    const bool marks_in_words = kCased || (!kGpt2 && rules.marks_in_words);
    continuation = classes.continuation;
    for (uint64_t firsts = classes.high & ~continuation & inside; firsts; firsts &= firsts - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(firsts));
      const Scanner::Class c = scanner.at(p + i);
      const uint64_t character = ((uint64_t{1} << c.length) - 1) << i;
      if (c.is(kLower)) {
        lower |= character;
      } else if (c.is(kUpper)) {
        upper |= character;
      } else if (c.is(kOtherLetter) || (marks_in_words && c.is(kMark) && ((lower | upper) << 1 >> i & 1))) {
        lower |= character;
        both |= character;
      } else if (c.is(kNumber | kSpace) || (marks_in_words && c.is(kMark))) {
        cut(uint64_t{1} << i);
        break;
      }
    }
  }
  // A word may start with both cases of letters, but only if no upper case follows: cased_word finds out.
  if constexpr (kCased) cut(upper & ~continuation & both << 1);
  const uint64_t blank = classes.blank, newline = classes.newline;
  const uint64_t line_end = kUnit == PreTokenizer::Unit::line ? classes.line_feed : 0;
  uint64_t sign = ~(lower | upper | classes.digit | blank | newline);
  if constexpr (!kGpt2) {
    // Whitespace with newlines ends after the last of them: blanks between two newlines are cut off.
    cut((blank + (blank & (newline & ~line_end) << 1)) & ~blank & newline);
    if constexpr (kCased) cut((newline + (newline & sign << 1)) & ~newline & classes.slash & ~(line_end << 1));
  }
  if (rules.digits == PreTokenizerRules::Digits::right) {
    cut(classes.digit & classes.digit >> 1 & classes.digit >> 2 & classes.digit >> 3);
  }
  if (to_end && rules.whole_end && newline & ~line_end & inside) to_end = false;
  if (!size) return {0, false};

  lower &= inside;
  upper &= inside;
  sign &= inside;
  const uint64_t letter = lower | upper, digit = classes.digit & inside, space = classes.space & inside;
  const uint64_t white = (blank | newline) & inside, last_byte = uint64_t{1} << (size - 1);
  const auto first_of = [](uint64_t run) { return run & ~(run << 1); };

  const uint64_t sign_starts = first_of(sign) & ~(space << 1);
  uint64_t starts = sign_starts | line_end << 1;
  // The last character of whitespace goes with what follows in the text, or is alone.
  const uint64_t last_white = white & ~(white >> 1) & ~last_byte & ~line_end;
  if constexpr (kGpt2) {
    starts |= first_of(letter) & ~(space << 1);
    starts |= first_of(digit) & ~(rules.digits == PreTokenizerRules::Digits::whole ? space << 1 : 0);
    starts |= first_of(white) | last_white;
  } else {
    // One sign, or whitespace other than a newline, goes with the word after it.
    uint64_t one_sign = sign_starts;
    if (continuation) {
      for (int i = 0; i < 3; ++i) one_sign |= one_sign << 1 & continuation;
    }
    starts |= first_of(letter) & ~((one_sign | blank) << 1);
    starts |= first_of(digit);
    starts |= first_of(white) & ~(newline & sign << 1);
    starts |= (white & newline << 1 & blank) | (last_white & blank);
  }
  if constexpr (kCased) starts |= upper & ~continuation & lower << 1;
  if (rules.digits == PreTokenizerRules::Digits::threes) {
    for (uint64_t group = first_of(digit); (group = group << 3 & digit & digit << 1 & digit << 2);) starts |= group;
  } else if (rules.digits == PreTokenizerRules::Digits::ones) {
    starts |= digit;
  }

  // Bytes after the block may change what is known of its last ones.
  size_t sure = size;
  const auto unsure_from = [&](uint64_t run) {
    if (!to_end && run & last_byte)
      sure = std::min<size_t>(sure, 65 - static_cast<size_t>(std::countl_zero(inside & ~run)));
  };
  unsure_from(white & ~line_end);
  if (rules.digits == PreTokenizerRules::Digits::right) unsure_from(digit);
  if (rules.contractions != PreTokenizerRules::Contractions::none) {
    size_t end = 0;
    uint64_t quotes = classes.quote & inside;
    for (quotes &= kCased ? letter << 1 : starts | 1; quotes; quotes &= quotes - 1) {
      const auto at = static_cast<size_t>(std::countr_zero(quotes));
      if (!to_end && at + 4 > size) {
        sure = std::min(sure, kCased ? at : at + 1);
        break;
      }
      if (kCased && end && at == end) continue;
      const auto after = static_cast<size_t>(scanner.contraction(p + at) - p);
      if (after == at) continue;
      starts &= ~bit_range(kCased ? at : at + 1, after);
      if (after < size) starts |= uint64_t{1} << after;
      end = after;
    }
  }
  return {starts & bit_range(1, sure), to_end};
}

}  // namespace piecework
