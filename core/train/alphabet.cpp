#include "train/alphabet.hpp"

#include <algorithm>

#include "text/unicode_scripts.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

constexpr size_t kCodePoints = 0x110000;
constexpr size_t kCheckpoint = 1 << 14;

uint8_t script_of(char32_t code) {
  if (code == 0x30FC) return kHan;  // the long vowel mark belongs to kana
  const auto* range = std::upper_bound(std::begin(kScriptRanges), std::end(kScriptRanges), code,
                                       [](char32_t c, const ScriptRange& r) { return c < r.first; });
  if (range == std::begin(kScriptRanges)) return kCommon;
  --range;
  return code <= range->last ? range->script : kCommon;
}

bool is_digit(char32_t code) { return (code >= '0' && code <= '9') || (code >= 0xFF10 && code <= 0xFF19); }

}  // namespace

CharacterRule character_rule(char32_t code, const TrainingOptions& options) {
  const bool digit = is_digit(code);
  ScriptSpan span;
  if (!options.split_by_unicode_script || code == kSpaceMark) {
    // ▁ has no script; without the rule no character has one. So the script of the text before it goes on.
  } else if (digit && !options.split_by_number) {
    span.first = kAnyScript;
  } else {
    span.first = script_of(code);
    if (span.first != kInherited) span.last = span.first;
  }
  return {code != kUnknownMark && !(digit && options.split_digits) && options.max_sentencepiece_length > 1, span};
}

FormMaker::FormMaker(const TrainingOptions& options)
    : options_(options),
      meta_(options.meta_pieces),
      mark_may_match_(meta_.may_start(kSpaceMarkUtf8[0])),
      changes_all_(mark_may_match_ || options.treat_whitespace_as_suffix ||
                   !options.pretokenization_delimiter.empty()) {}

bool FormMaker::has_match(const Word& word, bool marked) const {
  return meta_.may_be_in(word.bytes) || (mark_may_match_ && (marked || word.bytes.find(' ') != word.bytes.npos));
}

TrainingForm FormMaker::form(const Word& word) {
  const bool marked = options_.add_dummy_prefix || !word.opens_line;
  const bool suffix = options_.treat_whitespace_as_suffix;
  const std::string& delimiter = options_.pretokenization_delimiter;
  if (!suffix && delimiter.empty() && !has_match(word, marked)) return {marked, word.bytes};
  marked_.clear();
  if (marked && !suffix) marked_ += kSpaceMarkUtf8;
  for (const char c : word.bytes) {
    if (c == ' ') {
      marked_ += kSpaceMarkUtf8;
    } else {
      marked_ += c;
    }
  }
  if (marked && suffix) marked_ += kSpaceMarkUtf8;
  form_.clear();
  for (std::string_view rest = marked_; !rest.empty();) {
    size_t length = meta_.match(rest);
    if (length) {
      append_utf8(form_, options_.boundary);
    } else {
      length = decode_utf8(rest.data(), rest.data() + rest.size()).length;
      form_.append(rest.substr(0, length));
    }
    rest.remove_prefix(length);
  }
  if (!delimiter.empty()) {
    marked_.swap(form_);
    form_.clear();
    size_t start = 0;
    for (size_t at; (at = marked_.find(delimiter, start)) != marked_.npos; start = at + delimiter.size()) {
      form_.append(marked_, start, at - start);
      append_utf8(form_, options_.boundary);
    }
    form_.append(marked_, start);
  }
  return {false, form_};
}

void CharacterCounts::add(const TrainingForm& form, uint64_t count) {
  uint64_t length = form.marked;
  by_code_[kSpaceMark] += form.marked ? count : 0;
  for (const char *p = form.text.data(), *last = p + form.text.size(); p < last;) {
    if (*p > ' ') {  // ASCII, as most text is; other bytes are negative as signed characters
      by_code_[static_cast<unsigned char>(*p++)] += count;
      ++length;
      continue;
    }
    const Decoded c = decode_utf8(p, last);
    p += c.length;
    if (c.code == 0) continue;
    const char32_t code = c.code == ' ' ? kSpaceMark : c.code;
    if (code >= by_code_.size()) by_code_.resize(std::min<size_t>(code * size_t{2}, kCodePoints));
    by_code_[code] += count;  // cannot overflow unless the sum of all does, which is checked below
    ++length;
  }
  total_ = add_counts(total_, multiply_counts(length, count));
}

CharacterCounts count_characters(const WordTable& words, const TrainingOptions& options, const Checkpoint& checkpoint) {
  FormMaker forms(options);
  CharacterCounts characters;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i % kCheckpoint == 0 && checkpoint) checkpoint();
    const Word word = words.at(i);
    characters.add(forms.form(word), word.count);
  }
  return characters;
}

Alphabet::Alphabet(CharacterCounts characters, const TrainingOptions& options) : total_(characters.total()) {
  std::vector<uint64_t>& counts = characters.by_code();
  for (const char32_t code : options.required_chars) {
    if (code < kCodePoints && code >= counts.size()) counts.resize(code + 1);
  }
  std::vector<bool> required(counts.size(), false);
  for (const char32_t code : options.required_chars) {
    if (code != 0 && code < kCodePoints) required[code] = true;
  }
  indices_.assign(counts.size(), kNone);
  std::vector<Character> found;
  for (char32_t code = 1; code < counts.size(); ++code) {
    if (counts[code] || required[code]) found.push_back({code, counts[code]});
  }
  std::sort(found.begin(), found.end(), [&](const Character& a, const Character& b) {
    if (required[a.code] != required[b.code]) return static_cast<bool>(required[a.code]);
    return a.count != b.count ? a.count > b.count : a.code < b.code;
  });

  // As in SentencePiece, the comparison is in float32 and comes before the character is added. Both matter: at the
  // limit the last digit decides.
  uint64_t covered = 0;
  for (const Character& c : found) {
    if (!options.auto_character_coverage &&
        static_cast<float>(1.0 * static_cast<double>(covered) / static_cast<double>(total_)) >=
            options.character_coverage) {
      break;
    }
    covered += c.count;
    if (c.code != options.boundary) characters_.push_back(c);
  }
  std::sort(characters_.begin(), characters_.end(), [](const Character& a, const Character& b) {
    return a.count != b.count ? a.count > b.count : a.code < b.code;
  });

  for (uint32_t index = 0; index < characters_.size(); ++index) {
    const char32_t code = characters_[index].code;
    indices_[code] = index;
    scripts_.push_back(character_rule(code, options).script);
  }
}

}  // namespace piecework
