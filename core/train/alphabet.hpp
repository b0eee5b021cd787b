// Prepares word counts for the trainer: the form of each word, and the characters of the vocabulary.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "count/word_table.hpp"
#include "text/prefix_matcher.hpp"
#include "text/utf8.hpp"

namespace piecework {

// A text with at least this many positions is trained in rounds (rounds.cpp). Measured on texts of 6 and 12 million
// positions: rounds took 0.4 and 0.9 s longer, and saved no memory.
inline constexpr uint32_t kLargeText = 1 << 24;

struct TrainingOptions {
  float character_coverage = 0.9995F;
  uint32_t max_sentencepiece_length = 16;
  bool split_by_unicode_script = true;
  bool split_by_number = true;
  bool split_digits = false;
  bool add_dummy_prefix = true;
  bool split_by_whitespace = true;
  bool allow_whitespace_only_pieces = false;
  bool treat_whitespace_as_suffix = false;
  bool auto_character_coverage = false;   // every character is in the alphabet; train_bpe selects among them at the end
  char32_t boundary = 0x1F;               // replaces a meta piece: U+001F since SentencePiece 0.2.3, TAB before 0.2.3
  std::string pretokenization_delimiter;  // becomes a boundary, as meta pieces do
  std::vector<std::string> meta_pieces;   // each occurrence in the text becomes a boundary
  std::u32string required_chars;          // always in the alphabet, even if the text lacks them
  uint32_t large_text = kLargeText;
};

// Called from time to time during long work. It may throw to stop the work.
using Checkpoint = std::function<void()>;

// Calls a function with tables of words, the same ones each time. A word may be in several tables: its counts add up.
// So the words of a large corpus can be read in parts and need not be in memory together.
using WordTables = std::function<void(const std::function<void(const WordTable&)>&)>;

inline WordTables one_table(const WordTable& words) {
  return [&words](const std::function<void(const WordTable&)>& visit) { visit(words); };
}

struct Character {
  char32_t code;
  uint64_t count;
};

inline constexpr uint8_t kAnyScript = 0xFF;

// What the rule "a piece has one script" needs to know about a string.
struct ScriptSpan {
  uint8_t first = kInherited_;  // the script of the first character whose script is not Inherited
  uint8_t last = kAnyScript;    // the script after the last character, if the string stands alone
  static constexpr uint8_t kInherited_ = 1;
};

// The span of two strings side by side.
inline ScriptSpan joined(ScriptSpan left, ScriptSpan right) {
  constexpr uint8_t kInherited_ = ScriptSpan::kInherited_;
  return {left.first != kInherited_ ? left.first : right.first, right.first != kInherited_ ? right.last : left.last};
}

// Whether two strings side by side have one script.
inline bool share_script(ScriptSpan left, ScriptSpan right) {
  return left.last == kAnyScript || right.first == ScriptSpan::kInherited_ || right.first == kAnyScript ||
         left.last == right.first;
}

// What the merge rules need to know about a character.
struct CharacterRule {
  bool merges;  // false for a character that is always a piece of its own
  ScriptSpan script;
};
CharacterRule character_rule(char32_t code, const TrainingOptions& options);

// A word as the trainer sees it: each meta piece is replaced by the boundary. `marked`: a ▁ comes before the text. A
// space in the text is a ▁ too: tables of whitespace runs or of lines have them.
struct TrainingForm {
  bool marked;
  std::string_view text;
};

// Makes training forms. A form is valid until the next call.
class FormMaker {
 public:
  explicit FormMaker(const TrainingOptions& options);
  TrainingForm form(const Word& word);
  // Whether a word with this byte may have a form that differs from the word. `changes_all`: every word may, also one
  // without bytes.
  bool may_change(char byte) const { return changes_all_ || meta_.may_start(byte); }
  bool changes_all() const { return changes_all_; }

 private:
  bool has_match(const Word& word, bool marked) const;

  const TrainingOptions& options_;
  PrefixMatcher meta_;
  bool mark_may_match_;  // some meta piece may start with ▁
  bool changes_all_;
  std::string marked_, form_;
};

// How often each character occurs in training forms. NUL does not count.
class CharacterCounts {
 public:
  void add(const TrainingForm& form, uint64_t count);

  uint64_t total() const { return total_; }
  // By code point, up to at least ▁. Required characters may lie above the largest one that was found.
  std::vector<uint64_t>& by_code() { return by_code_; }

 private:
  std::vector<uint64_t> by_code_ = std::vector<uint64_t>(kSpaceMark + 1, 0);
  uint64_t total_ = 0;
};
CharacterCounts count_characters(const WordTable& words, const TrainingOptions& options, const Checkpoint& checkpoint);

// The characters of the vocabulary, in its order, with the properties that the merge rules need.
class Alphabet {
 public:
  Alphabet(CharacterCounts characters, const TrainingOptions& options);
  Alphabet(const WordTable& words, const TrainingOptions& options, const Checkpoint& checkpoint = {})
      : Alphabet(count_characters(words, options, checkpoint), options) {}

  const std::vector<Character>& characters() const { return characters_; }
  // The number of characters in the text, boundaries included.
  uint64_t total() const { return total_; }
  static constexpr uint32_t kNone = UINT32_MAX;
  // Defined only for characters of the words, required characters and ▁: the tables have no larger code points.
  uint32_t index_of(char32_t code) const { return indices_[code]; }
  ScriptSpan script_span(uint32_t index) const { return scripts_[index]; }
  bool contains(char32_t code) const { return code < indices_.size() && indices_[code] != kNone; }

 private:
  std::vector<Character> characters_;
  uint64_t total_ = 0;
  std::vector<uint32_t> indices_;  // by code point
  std::vector<ScriptSpan> scripts_;
};

}  // namespace piecework
