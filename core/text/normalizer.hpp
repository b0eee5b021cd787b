// SentencePiece's normalisation of text, with the offset that each byte of the result comes from.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/prefix_matcher.hpp"

namespace piecework {

struct NormalizerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The names are those of SentencePiece's NormalizerSpec and TrainerSpec.
struct NormalizerSettings {
  std::string precompiled_charsmap;  // rules as SentencePiece compiles them; empty: none
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool treat_whitespace_as_suffix = false;
  std::vector<std::string> user_symbols;  // they pass unchanged
};

class Normalizer {
 public:
  // Throws NormalizerError if the rules are damaged.
  explicit Normalizer(const NormalizerSettings& settings);

  // If whitespace is escaped, writes one space for each ▁: so most of the result is a copy of the text.
  // `origins`, if given, gets the offset in `text` of each byte of `out`, and of its end. `known_valid`: the text is
  // valid UTF-8.
  void normalize(std::string_view text, std::string& out, std::vector<size_t>* origins = nullptr,
                 bool known_valid = false) const;

  // Whether a rule replaces text that contains a space.
  bool has_rule_for_spaces() const;

 private:
  struct Prefix {
    std::string_view replacement;
    size_t consumed;
  };
  void normalize_fully(std::string_view text, std::string& out, std::vector<size_t>* origins) const;
  Prefix normalize_prefix(std::string_view text) const;
  size_t longest_rule(std::string_view text, std::string_view& replacement) const;

  bool add_dummy_prefix_, remove_extra_whitespaces_, escape_whitespaces_, suffix_;
  PrefixMatcher user_symbols_;
  std::vector<uint32_t> trie_;  // a double array as darts-clone lays it out
  std::string replacements_;    // NUL-terminated strings, by offset
};

}  // namespace piecework
