#include "encode/prefix_encoder.hpp"

#include "text/bytes.hpp"
#include "text/utf8.hpp"

namespace piecework {

void PrefixEncoder::find_tokens(std::string_view text) {
  const auto end = static_cast<uint32_t>(text.size());
  const size_t shared = shared_bytes(text, text_);
  text_.resize(shared);
  text_ += text.substr(shared);
  // Four at a time: a few places too many do no harm, and a loop that ends sooner is foreseen more often.
  if (lasts_.size() < text.size() + 5) lasts_.resize(2 * text.size() + 5);
  for (size_t place = shared + 1; place <= text.size(); place += 4) {
    for (size_t i = 0; i < 4; ++i) lasts_[place + i].begin = kUnasked;
  }
  // Asking goes back as far as nobody has asked before, so in long texts every place is asked in turn.
  constexpr size_t kLong = 256;
  for (size_t place = shared + 1; end > kLong && place < end; ++place) {
    if (!is_continuation(static_cast<unsigned char>(text[place]))) last_of(static_cast<uint32_t>(place));
  }
  ends_.clear();
  for (uint32_t place = end; place > 0; place = lasts_[place].begin) {
    last_of(place);
    ends_.push_back(place);
  }
}

SymbolId PrefixEncoder::last_of(uint32_t end) {
  Last& last = lasts_[end];
  if (last.begin != kUnasked) return last.symbol;
  const std::string_view before(text_.data(), end);
  for (SymbolId symbol = suffixes_.longest(before); symbol != kNoSymbol; symbol = suffixes_.next(symbol)) {
    const uint32_t begin = end - trees_[symbol].length;
    if (begin == 0 || trees_.stay_apart(last_of(begin), symbol)) {
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
