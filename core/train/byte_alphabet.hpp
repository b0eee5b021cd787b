// The symbols that byte-level training starts with, numbered as Hugging Face tokenizers numbers them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace piecework {

// The character that stands for a byte in vocabularies. A byte that is a visible character of Latin-1 stands for
// itself; the other bytes get U+0100 and the next characters, in the order of the bytes.
std::array<char32_t, 256> byte_characters();

struct ByteAlphabet {
  explicit ByteAlphabet(const std::vector<std::string>& special_tokens);

  std::vector<std::string> symbols;        // by id: special tokens, then bytes by the code point of their character
  std::array<uint32_t, 256> byte_symbols;  // the id of each byte, or of a special token that is its character
};

}  // namespace piecework
