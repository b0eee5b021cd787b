// A literal ▁ in a text is a space, with one difference: normalisation does not remove it beside other spaces.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "text/utf8.hpp"

namespace piecework {

inline bool has_space_mark(std::string_view text) { return text.find(kSpaceMarkUtf8) != text.npos; }

inline std::string replace_marks(std::string_view text) {
  std::string spaced;
  spaced.reserve(text.size());
  for (size_t at; (at = text.find(kSpaceMarkUtf8)) != text.npos; text.remove_prefix(at + kSpaceMarkUtf8.size())) {
    spaced.append(text.substr(0, at)) += ' ';
  }
  return spaced.append(text);
}

// Whether it depends on the text after `part` how many of its spaces normalisation removes: no ASCII letter or digit
// stands after the last ▁. `open`: this held before `part` already.
inline bool is_open(std::string_view part, bool open = false) {
  if (const size_t mark = part.rfind(kSpaceMarkUtf8); mark != part.npos) {
    open = true;
    part.remove_prefix(mark + kSpaceMarkUtf8.size());
  }
  return open && std::none_of(part.begin(), part.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
         });
}

// Calls `use(unit, offset)` with each run of spaces and the text up to the next space.
template <class Use>
void for_each_unit(std::string_view text, Use&& use) {
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    const size_t word = std::min(text.find_first_not_of(' ', begin), text.size());
    end = std::min(text.find(' ', word), text.size());
    use(text.substr(begin, end - begin), begin);
  }
}

}  // namespace piecework
