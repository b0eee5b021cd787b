#include "encode/unit_scanner.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "text/utf8.hpp"

namespace piecework {

UnitScanner::UnitScanner(const Merger& merger, PrefixMatcher user_symbols)
    : user_symbols_(std::move(user_symbols)), pairs_(1 << 16) {
  for (unsigned left = 0; left < 256; ++left) {
    for (unsigned right = 0; right < 256; ++right) {
      const auto l = static_cast<unsigned char>(left), r = static_cast<unsigned char>(right);
      if (is_continuation(r)) continue;
      uint8_t& pair = pairs_[left | right << 8];
      if (!merger.joins(l, r)) pair |= kEnd | kStop;
      if (user_symbols_.may_start(static_cast<char>(r))) pair |= kMayStart | kStop;
    }
  }
}

// Looks at 64 bytes together, and makes a mask of those that a unit may start with. Byte by byte, the end of each unit
// was a branch that the processor mispredicted.
size_t UnitScanner::find_ends(std::string_view text, size_t at, size_t* ends) const {
  size_t found = 0;
  size_t start = at;  // of the unit whose end comes next
  while (at < text.size() && found + 66 <= kBlock) {
    const size_t first = at, size = std::min<size_t>(text.size() - at, 64);
    char copy[64] = {};
    const char* block = text.data() + first;
    if (size < 64) block = static_cast<const char*>(std::memcpy(copy, block, size));
    // A unit that starts here may be a user symbol.
    const bool opens = first == start && user_symbols_.may_start(text[first]);
    uint8_t seen = first > start ? pair_at(text.data() + first) : opens ? kStop | kMayStart : 0;
    uint64_t stops = seen & kStop;
    for (size_t i = 1; i < 64; ++i) {
      const uint8_t pair = pair_at(block + i);
      stops |= static_cast<uint64_t>(pair & kStop) << i;
      seen |= pair;
    }
    if (size < 64) stops &= (uint64_t{1} << size) - 1;
    at += size;
    for (; stops; stops &= stops - 1) {
      const size_t stop = first + static_cast<size_t>(std::countr_zero(stops));
      size_t symbol = 0;
      if (seen & kMayStart) {
        symbol = user_symbols_.match(text.substr(stop));
        if (!symbol && (stop == start || !(pair_at(text.data() + stop) & kEnd))) continue;
      }
      if (stop > start) ends[found++] = start = stop;
      if (symbol) {
        ends[found++] = start = at = stop + symbol;
        break;
      }
    }
  }
  if (at == text.size() && start < at) ends[found++] = at;
  return found;
}

}  // namespace piecework
