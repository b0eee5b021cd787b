#include "train/byte_alphabet.hpp"

#include <algorithm>
#include <utility>

#include "text/utf8.hpp"

namespace piecework {

std::array<char32_t, 256> byte_characters() {
  std::array<char32_t, 256> characters;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    characters[byte] = visible ? byte : next++;
  }
  return characters;
}

ByteAlphabet::ByteAlphabet(const std::vector<std::string>& special_tokens) : symbols(special_tokens) {
  const std::array<char32_t, 256> characters = byte_characters();
  std::array<std::pair<char32_t, unsigned>, 256> ordered;
  for (unsigned byte = 0; byte < 256; ++byte) ordered[byte] = {characters[byte], byte};
  std::sort(ordered.begin(), ordered.end());
  for (const auto& [character, byte] : ordered) {
    std::string text;
    append_utf8(text, character);
    const auto special = std::find(special_tokens.begin(), special_tokens.end(), text);
    byte_symbols[byte] =
        static_cast<uint32_t>(special == special_tokens.end() ? symbols.size() : special - special_tokens.begin());
    if (special == special_tokens.end()) symbols.push_back(std::move(text));
  }
}

}  // namespace piecework
