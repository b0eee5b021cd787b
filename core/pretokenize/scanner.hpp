// Finds the end of one pre-token: each function follows the alternatives of its pattern in their order. Where the
// pattern would backtrack, a comment says what it finally matches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pretokenize/character_classes.hpp"
#include "pretokenize/pre_tokenizer.hpp"
#include "text/byte_scan.hpp"
#include "text/utf8.hpp"

namespace piecework {

// A text, and how its characters are classed. A pointer is at the start of a character or at the end of the text.
struct Scanner {
  using Rules = PreTokenizerRules;

  const char *first, *last;
  const Rules& rules;
  const ClassTable& classes = class_table();

  struct Class {
    uint8_t bits, length;
    bool is(uint8_t any) const { return bits & any; }
  };

  // `p` < `last`. The text is valid, so the first byte gives the length of a character.
  [[gnu::always_inline]] Class at(const char* p) const {
    const auto* u = reinterpret_cast<const unsigned char*>(p);
    if (u[0] < 0x80) return {classes.ascii(u[0]), 1};
    if (u[0] < 0xE0) return {classes[static_cast<char32_t>((u[0] & 0x1F) << 6 | (u[1] & 0x3F))], 2};
    if (u[0] < 0xF0) {
      return {classes[static_cast<char32_t>((u[0] & 0x0F) << 12 | (u[1] & 0x3F) << 6 | (u[2] & 0x3F))], 3};
    }
    return {
        classes[static_cast<char32_t>((u[0] & 0x07) << 18 | (u[1] & 0x3F) << 12 | (u[2] & 0x3F) << 6 | (u[3] & 0x3F))],
        4};
  }

  static bool is_newline(char c) { return c == '\n' || c == '\r'; }

  template <class Test>
  [[gnu::always_inline]] const char* skip(const char* p, Test&& test) const {
    while (p < last) {
      const Class c = at(p);
      if (!test(c)) break;
      p += c.length;
    }
    return p;
  }
  const char* skip_all(const char* p, uint8_t any) const {
    return skip(p, [any](Class c) { return c.is(any); });
  }
  // skip_all for classes that have all ASCII letters, or with `kLowerOnly` the lower case ones, and no other ASCII.
  // Sixteen bytes are checked together: most words end within them, and a loop over bytes would mispredict the end.
  template <bool kLowerOnly = false>
  [[gnu::always_inline]] const char* skip_letters(const char* p, uint8_t any) const {
    while (last - p >= 16) {
      const unsigned letters = leading_letters<kLowerOnly>(p);
      p += letters;
      if (letters == 16) continue;
      if (static_cast<unsigned char>(*p) < 0x80) return p;
      const Class c = at(p);
      if (!c.is(any)) return p;
      p += c.length;
    }
    return skip_all(p, any);
  }
  const char* skip_none(const char* p, uint8_t none) const {
    return skip(p, [none](Class c) { return !c.is(none); });
  }
  const char* skip_newlines(const char* p, bool slashes) const {
    while (p < last && (is_newline(*p) || (slashes && *p == '/'))) ++p;
    return p;
  }

  // The end of the contraction whose apostrophe is at `p`, or `p` if there is none.
  const char* contraction(const char* p) const {
    const auto left = last - p;
    if (left < 2 || *p != '\'' || rules.contractions == Rules::Contractions::none) return p;
    const bool lower_only = rules.contractions == Rules::Contractions::lower_case;
    const auto fold = [&](char c) { return !lower_only && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
    const char one = fold(p[1]);
    if (one == 's' || one == 't' || one == 'm' || one == 'd') return p + 2;
    if (left < 3) return p;
    const char two = fold(p[2]);
    if ((one == 'l' && two == 'l') || ((one == 'v' || one == 'r') && two == 'e')) return p + 3;
    // ſ, U+017F, is an s in another case.
    if (rules.contractions == Rules::Contractions::any_case && p[1] == '\xC5' && p[2] == '\xBF') return p + 3;
    return p;
  }

  // `p` is at a number.
  const char* digits(const char* p) const {
    const auto few = [&](int most) {
      for (; most > 0 && p < last; --most) {
        const Class c = at(p);
        if (!c.is(kNumber)) break;
        p += c.length;
      }
      return p;
    };
    switch (rules.digits) {
      case Rules::Digits::whole:
        return skip_all(p, kNumber);
      case Rules::Digits::threes:
        return few(3);
      case Rules::Digits::ones:
        return few(1);
      case Rules::Digits::right:
        break;
    }
    // Inside a number, the number of digits left is a multiple of three. Digits are counted only at the start of a
    // number, so that long numbers are not slow.
    if (p > first) {
      const char* before = p - 1;
      while (is_continuation(static_cast<unsigned char>(*before))) --before;
      if (at(before).is(kNumber)) return few(3);
    }
    size_t length = 0;
    skip(p, [&](Class c) { return c.is(kNumber) && ++length; });
    return few(length % 3 ? static_cast<int>(length % 3) : 3);
  }

  // Whitespace from `p` on: \s*[\r\n]+ if `newlines`, then \s+(?!\S), then \s+. `inside` tells what belongs to the
  // text.
  template <class Inside>
  [[gnu::always_inline]] const char* whitespace(const char* p, bool newlines, Inside&& inside) const {
    const char *end = p, *before_last = p, *after_newline = nullptr;
    while (end < last) {
      const Class c = at(end);
      if (!c.is(kSpace)) break;
      before_last = end;
      if (is_newline(*end)) after_newline = end + 1;
      end += c.length;
    }
    const bool at_end = end == last || !inside(at(end));
    if (rules.whole_end && at_end) return end;
    if (newlines && after_newline) return after_newline;
    // The last space is left for the next pre-token, unless it is the only one.
    return at_end || before_last == p ? end : before_last;
  }
  const char* whitespace(const char* p, bool newlines) const {
    return whitespace(p, newlines, [](Class) { return true; });
  }

  // '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  const char* gpt2(const char* p) const {
    if (const char* end = contraction(p); end != p) return end;
    const char* q = p;
    Class c = at(q);
    if (*p == ' ' && p + 1 < last) c = at(++q);
    if (c.is(kLetter)) return skip_letters(q + c.length, kLetter);
    if (c.is(kNumber)) {
      // If digits are cut into groups, the space is a pre-token of its own.
      if (rules.digits == Rules::Digits::whole || q == p) return digits(q);
      return q;
    }
    if (!c.is(kSpace)) return skip_none(q + c.length, kSpace | kLetter | kNumber);
    return whitespace(p, false);
  }

  // '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  const char* cl100k(const char* p) const {
    const uint8_t word = rules.marks_in_words ? kLetter | kMark : kLetter;
    const Class c = at(p);
    if (c.is(word)) return skip_letters(p + c.length, word);
    if (c.is(kNumber)) return digits(p);
    if (const char* end = contraction(p); end != p) return end;
    const char* const next = p + c.length;
    if (next < last && !is_newline(*p)) {
      const Class after = at(next);
      if (after.is(word)) return skip_letters(next + after.length, word);
      if (*p == ' ' && !after.is(kSpace | kNumber)) return signs(next + after.length, kSpace | kNumber | word, false);
    }
    if (!c.is(kSpace)) return signs(next, kSpace | kNumber | word, false);
    return whitespace(p, true);
  }

  const char* signs(const char* p, uint8_t none, bool slashes) const {
    return skip_newlines(skip_none(p, none), slashes);
  }

  // Words of o200k, from their first letter or mark on: [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+
  // The first part takes all it can. If a lower case letter follows, the second part goes on from there. If not, the
  // second part takes only the last character that fits both parts. Upper case letters after this character are left
  // over.
  const char* cased_word(const char* p) const {
    constexpr uint8_t kBoth = kOtherLetter | kMark;
    const char* end_of_both = nullptr;
    for (const char* end = p; end < last;) {
      const Class c = at(end);
      if (!c.is(kUpper | kBoth)) {
        if (c.is(kLower)) return skip_letters<true>(end + c.length, kLower | kBoth);
        break;
      }
      end += c.length;
      if (c.is(kBoth)) end_of_both = end;
    }
    return end_of_both;
  }

  // A word is a cased_word, or upper case letters alone. One sign may come before it, and a contraction after it. The
  // rest is like cl100k, but after signs a slash counts like a newline.
  const char* o200k(const char* p) const {
    const Class c = at(p);
    if (c.is(kNumber)) return digits(p);
    const bool sign_first = !c.is(kLetter) && !is_newline(*p);
    const char* const start = sign_first ? p + c.length : p;
    if (c.is(kLetter) || (sign_first && start < last && at(start).is(kLetter | kMark))) {
      const char* end = cased_word(start);
      // A mark that was taken for the sign is a word of its own, if only upper case letters follow.
      if (!end && c.is(kMark)) end = start;
      if (!end) end = skip_all(start, kUpper);
      return contraction(end);
    }
    if (c.is(kMark)) return contraction(start);
    const char* const next = p + c.length;
    if (*p == ' ' && next < last) {
      const Class after = at(next);
      if (!after.is(kSpace | kLetter | kNumber)) return signs(next + after.length, kSpace | kLetter | kNumber, true);
    }
    if (!c.is(kSpace)) return signs(next, kSpace | kLetter | kNumber, true);
    return whitespace(p, true);
  }

  static bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  // The third pattern of DeepSeek at `p`, in a stretch without numbers that is all Han and kana, or has none:
  // [!-/:-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  // Returns `p` if it does not match.
  const char* deepseek_match(const char* p) const {
    constexpr uint8_t kWord = kLetter | kMark;
    const Class c = at(p);
    const uint8_t stretch = c.bits & kCjk;
    const auto inside = [stretch](Class d) { return !d.is(kNumber) && (d.bits & kCjk) == stretch; };
    const auto word = [&](Class d) { return d.is(kWord) && inside(d); };
    const auto sign = [&](Class d) { return d.is(kSymbol) && inside(d); };
    const char* const next = p + c.length;
    if (static_cast<unsigned char>(*p) < 0x80 && c.is(kSymbol) && next < last && is_ascii_letter(*next)) {
      const char* end = next;
      while (end < last && is_ascii_letter(*end)) ++end;
      return end;
    }
    if (c.is(kWord)) return skip(next, word);
    if (!c.is(kSymbol) && !is_newline(*p) && next < last && word(at(next))) return skip(next, word);
    if (c.is(kSymbol) || (*p == ' ' && next < last && sign(at(next)))) {
      const char* const end = skip(next, sign);
      return stretch ? end : skip_newlines(end, false);
    }
    return c.is(kSpace) ? whitespace(p, true, inside) : p;
  }

  // Text between two matches, which no pattern matches, is one pre-token.
  const char* deepseek(const char* p) const {
    const Class c = at(p);
    if (c.is(kNumber)) return digits(p);
    const uint8_t stretch = c.bits & kCjk;
    const char* end = deepseek_match(p);
    if (end != p) return end;
    for (end = p + c.length; end < last;) {
      const Class d = at(end);
      if (d.is(kNumber) || (d.bits & kCjk) != stretch || deepseek_match(end) != end) break;
      end += d.length;
    }
    return end;
  }
};

}  // namespace piecework
