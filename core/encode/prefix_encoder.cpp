#include "encode/prefix_encoder.hpp"

#include "text/bytes.hpp"
#include "text/utf8.hpp"

namespace piecework {

void PrefixEncoder::find_tokens(std::string_view text) {
  const auto end = static_cast<uint32_t>(text.size());
  const size_t shared = shared_bytes(text, text_);
  text_.resize(shared);
  text_ += text.substr(shared);
  // Four offsets at a time: a few extra ones do no harm, and the branch of a shorter loop is predicted more often.
  if (last_tokens_.size() < text.size() + 5) last_tokens_.resize(2 * text.size() + 5);
  for (size_t offset = shared + 1; offset <= text.size(); offset += 4) {
    for (size_t i = 0; i < 4; ++i) last_tokens_[offset + i].begin = kUnknown;
  }
  // last_token() recurses to the last known offset, so in long texts every offset is computed in order.
  constexpr size_t kLong = 256;
  for (size_t offset = shared + 1; end > kLong && offset < end; ++offset) {
    if (!is_continuation(static_cast<unsigned char>(text[offset]))) last_token(static_cast<uint32_t>(offset));
  }
  ends_.clear();
  for (uint32_t offset = end; offset > 0; offset = last_tokens_[offset].begin) {
    last_token(offset);
    ends_.push_back(offset);
  }
}

SymbolId PrefixEncoder::last_token(uint32_t end) {
  Last& last = last_tokens_[end];
  if (last.begin != kUnknown) return last.symbol;
  const std::string_view before(text_.data(), end);
  for (SymbolId symbol = suffixes_.longest(before); symbol != kNoSymbol; symbol = suffixes_.next(symbol)) {
    const uint32_t begin = end - trees_[symbol].length;
    if (begin == 0 || trees_.stay_apart(last_token(begin), symbol)) {
      last = {symbol, begin};
      return symbol;
    }
  }
  // No longer symbol fits there, so the token is the last character. Rules of a damaged model can give text that starts
  // with a continuation byte.
  uint32_t begin = end - 1;
  while (begin > 0 && is_continuation(static_cast<unsigned char>(text_[begin]))) --begin;
  last = {merger_.symbol_of(decode_utf8(text_.data() + begin, text_.data() + end).code), begin};
  return last.symbol;
}

}  // namespace piecework
