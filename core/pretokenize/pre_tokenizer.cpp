#include "pretokenize/pre_tokenizer.hpp"

#include <bit>
#include <cstring>

#include "pretokenize/block_starts.hpp"
#include "pretokenize/scanner.hpp"

namespace piecework {
namespace {

using Rules = PreTokenizerRules;
using Unit = PreTokenizer::Unit;

// Finds up to `most` pre-tokens from `p` on, and returns their number.
template <const char* (Scanner::*kNext)(const char*) const>
size_t find_one_by_one(const Scanner& text, const char* p, Unit unit, size_t* ends, size_t most) {
  size_t found = 0;
  for (Scanner part{text.first, p, text.rules}; p < text.last && found < most; ++found) {
    if (p == part.last) {
      const void* newline = unit == Unit::line ? std::memchr(p, '\n', static_cast<size_t>(text.last - p)) : nullptr;
      part.last = newline ? static_cast<const char*>(newline) + 1 : text.last;
    }
    p = (part.*kNext)(p);
    ends[found] = static_cast<size_t>(p - text.first);
  }
  return found;
}

template <Rules::Family kFamily, Unit kUnit, const char* (Scanner::*kNext)(const char*) const>
size_t find_in_blocks(const Scanner& scanner, const char* p, size_t* ends) {
  size_t found = 0;
  // A block without a start is followed by some pre-tokens one by one, so that little text is looked at twice.
  constexpr size_t kOneByOne = 4;
  while (p < scanner.last && found + 64 <= PreTokenizer::kBlock) {
    const Starts block = find_starts<kFamily, kUnit>(scanner, p);
    const auto at = static_cast<size_t>(p - scanner.first);
    for (uint64_t starts = block.starts; starts; starts &= starts - 1) {
      ends[found++] = at + static_cast<size_t>(std::countr_zero(starts));
    }
    if (block.to_end) {
      ends[found++] = static_cast<size_t>(scanner.last - scanner.first);
      break;
    }
    if (!block.starts) found += find_one_by_one<kNext>(scanner, p, kUnit, &ends[found], kOneByOne);
    p = scanner.first + ends[found - 1];
  }
  return found;
}

template <Rules::Family kFamily, const char* (Scanner::*kNext)(const char*) const>
size_t find(const Scanner& scanner, const char* p, Unit unit, size_t* ends) {
  return unit == Unit::text ? find_in_blocks<kFamily, Unit::text, kNext>(scanner, p, ends)
                            : find_in_blocks<kFamily, Unit::line, kNext>(scanner, p, ends);
}

}  // namespace

size_t PreTokenizer::find_ends(std::string_view text, size_t at, Unit unit, size_t* ends) const {
  const Scanner scanner{text.data(), text.data() + text.size(), rules_};
  const char* const p = text.data() + at;
  switch (rules_.family) {
    case Rules::Family::gpt2:
      return find<Rules::Family::gpt2, &Scanner::gpt2>(scanner, p, unit, ends);
    case Rules::Family::cl100k:
      return find<Rules::Family::cl100k, &Scanner::cl100k>(scanner, p, unit, ends);
    case Rules::Family::o200k:
      return find<Rules::Family::o200k, &Scanner::o200k>(scanner, p, unit, ends);
    case Rules::Family::deepseek:
      return find_one_by_one<&Scanner::deepseek>(scanner, p, unit, ends, kBlock);
  }
  return 0;
}

size_t PreTokenizer::next_end(std::string_view text, size_t at) const {
  const Scanner scanner{text.data(), text.data() + text.size(), rules_};
  const auto next = [family = rules_.family] {
    switch (family) {
      case Rules::Family::gpt2:
        return &Scanner::gpt2;
      case Rules::Family::cl100k:
        return &Scanner::cl100k;
      case Rules::Family::o200k:
        return &Scanner::o200k;
      case Rules::Family::deepseek:
        break;
    }
    return &Scanner::deepseek;
  }();
  return static_cast<size_t>((scanner.*next)(text.data() + at) - text.data());
}

}  // namespace piecework
