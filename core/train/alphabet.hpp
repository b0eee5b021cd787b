// From word counts to what the trainer works on: the required characters, and the chunks across which nothing merges.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "count/word_table.hpp"
#include "text/prefix_matcher.hpp"

namespace piecework {

struct TrainingOptions {
  float character_coverage = 0.9995F;
  uint32_t max_piece_characters = 16;
  bool split_by_unicode_script = true;
  bool split_by_number = true;
  bool split_digits = false;
  bool add_dummy_prefix = true;
  std::vector<std::string> meta_pieces;  // found in the text, they become a boundary
  std::u32string required_characters;    // always in the alphabet, also where the text lacks them
};

// Called now and then during long work; it may throw to stop it.
using Checkpoint = std::function<void()>;

struct Character {
  char32_t code;
  uint64_t count;
};

inline constexpr uint8_t kAnyScript = 0xFF;

// How a run of characters looks to the rule "one piece, one script".
struct ScriptSpan {
  uint8_t first = kInherited_;  // the script of the first character that has one of its own
  uint8_t last = kAnyScript;    // the script in force after the run, when nothing stands before it
  static constexpr uint8_t kInherited_ = 1;
};

// The characters that pieces are made of, in the order of the vocabulary, with what the rules need to know of each.
class Alphabet {
 public:
  Alphabet(const WordTable& words, const TrainingOptions& options, const Checkpoint& checkpoint = {});

  const std::vector<Character>& characters() const { return characters_; }
  static constexpr uint32_t kNone = UINT32_MAX;
  // Only of characters that the words have, or that are required, and of ▁: the tables end where these do.
  uint32_t index_of(char32_t code) const { return indices_[code]; }
  ScriptSpan script_span(uint32_t index) const { return scripts_[index]; }

  // What cutting needs to know of a character: whether it can merge at all, and the scripts that it has on its left and
  // right side, kAnyScript where it fits any neighbour.
  struct Sides {
    bool merges = false;
    uint8_t left = kAnyScript, right = kAnyScript;
  };
  const Sides& sides_of(char32_t code) const { return sides_[code]; }

 private:
  std::vector<Character> characters_;
  std::vector<uint32_t> indices_;  // by code point
  std::vector<Sides> sides_;       // by code point
  std::vector<ScriptSpan> scripts_;
};

// The word as training sees it: meta pieces are replaced by a TAB. `marked` where a ▁ stands before the text.
struct TrainingForm {
  bool marked;
  std::string_view text;
};
// `buffer` may hold the result; most words need none.
TrainingForm training_form(const Word& word, bool add_dummy_prefix, const PrefixMatcher& meta, std::string& buffer);

// Cuts each word into the longest chunks within which merges can happen, and counts equal chunks together. On 100 MB of
// text 1.2 million words become 0.5 million chunks. A chunk's flag is set when it does NOT start with ▁.
WordTable cut_into_chunks(const WordTable& words, const Alphabet& alphabet, const TrainingOptions& options,
                          const Checkpoint& checkpoint = {});

}  // namespace piecework
