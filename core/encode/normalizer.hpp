// Text as the model sees it: SentencePiece's normalisation, and where each byte of the result comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"
#include "text/prefix_matcher.hpp"

namespace piecework {

class Normalizer {
 public:
  explicit Normalizer(const Model& model);

  // In `out` a plain space stands for ▁ where the model escapes whitespace: one byte, and the text is mostly a copy.
  // `origins`, if given, gets the offset in `text` of each byte of `out`, and of its end.
  void normalize(std::string_view text, std::string& out, std::vector<size_t>* origins = nullptr) const;

 private:
  struct Prefix {
    std::string_view replacement;
    size_t consumed;
  };
  void normalize_fully(std::string_view text, std::string& out, std::vector<size_t>* origins) const;
  Prefix normalize_prefix(std::string_view text) const;
  size_t longest_rule(std::string_view text, std::string_view& replacement) const;

  bool add_dummy_prefix_, remove_extra_whitespaces_, escape_whitespaces_, suffix_;
  PrefixMatcher symbols_;       // user-defined symbols pass unchanged
  std::vector<uint32_t> trie_;  // a double array as darts-clone lays it out
  std::string replacements_;    // NUL-terminated strings, by offset
};

}  // namespace piecework
