#include "train/alphabet.hpp"

#include <algorithm>

#include "text/unicode_scripts.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

constexpr char32_t kBoundary = '\t';
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

bool may_contain_meta(std::string_view text, const PrefixMatcher& meta) {
  return std::any_of(text.begin(), text.end(), [&](char c) { return meta.may_start(c); });
}

}  // namespace

TrainingForm training_form(const Word& word, bool add_dummy_prefix, const PrefixMatcher& meta, std::string& buffer) {
  const bool marked = add_dummy_prefix || !word.opens_line;
  if (meta.empty() || !(may_contain_meta(word.bytes, meta) || (marked && meta.may_start(kSpaceMarkUtf8[0])))) {
    return {marked, word.bytes};
  }
  std::string form(marked ? kSpaceMarkUtf8 : std::string_view());
  form += word.bytes;
  buffer.clear();
  for (std::string_view rest = form; !rest.empty();) {
    if (const size_t length = meta.match(rest)) {
      buffer += static_cast<char>(kBoundary);
      rest.remove_prefix(length);
    } else {
      const size_t length_one = decode_utf8(rest.data(), rest.data() + rest.size()).length;
      buffer.append(rest.substr(0, length_one));
      rest.remove_prefix(length_one);
    }
  }
  return {false, buffer};
}

Alphabet::Alphabet(const WordTable& words, const TrainingOptions& options, const Checkpoint& checkpoint) {
  const PrefixMatcher meta(options.meta_pieces);
  std::vector<uint64_t> counts(kSpaceMark + 1, 0);  // by code point; grows up to the largest one found
  uint64_t all = 0;
  std::string buffer;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i % kCheckpoint == 0 && checkpoint) checkpoint();
    const Word word = words.at(i);
    const TrainingForm form = training_form(word, options.add_dummy_prefix, meta, buffer);
    uint64_t length = form.marked;
    counts[kSpaceMark] += form.marked ? word.count : 0;
    for (const char *p = form.text.data(), *last = p + form.text.size(); p < last;) {
      const Decoded c = decode_utf8(p, last);
      p += c.length;
      if (c.code == 0) continue;
      if (c.code >= counts.size()) counts.resize(std::min<size_t>(c.code * size_t{2}, kCodePoints));
      counts[c.code] += word.count;  // cannot overflow unless the sum of all does, which is checked below
      ++length;
    }
    all = add_counts(all, multiply_counts(length, word.count));
  }

  for (const char32_t code : options.required_chars) {
    if (code < kCodePoints && code >= counts.size()) counts.resize(code + 1);
  }
  std::vector<bool> required(counts.size(), false);
  for (const char32_t code : options.required_chars) {
    if (code != 0 && code < kCodePoints) required[code] = true;
  }
  indices_.assign(counts.size(), kNone);
  sides_.resize(counts.size());
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
    if (static_cast<float>(1.0 * static_cast<double>(covered) / static_cast<double>(all)) >=
        options.character_coverage) {
      break;
    }
    covered += c.count;
    if (c.code != kBoundary) characters_.push_back(c);
  }
  std::sort(characters_.begin(), characters_.end(), [](const Character& a, const Character& b) {
    return a.count != b.count ? a.count > b.count : a.code < b.code;
  });

  for (uint32_t index = 0; index < characters_.size(); ++index) {
    const char32_t code = characters_[index].code;
    indices_[code] = index;
    const bool digit = is_digit(code);
    ScriptSpan span;
    if (!options.split_by_unicode_script || code == kSpaceMark) {
      // ▁ has no script, and without the rule no character has one. It keeps the script of what comes before it.
    } else if (digit && !options.split_by_number) {
      span.first = kAnyScript;
    } else {
      const uint8_t script = script_of(code);
      span.first = script;
      if (script != kInherited) span.last = script;
    }
    scripts_.push_back(span);
    sides_[code].merges =
        code != kUnknownMark && !(digit && options.split_digits) && options.max_sentencepiece_length > 1;
    sides_[code].left = span.first == kInherited ? kAnyScript : span.first;
    sides_[code].right = span.last;
  }
}

WordTable split_into_chunks(const WordTable& words, const Alphabet& alphabet, const TrainingOptions& options,
                            const Checkpoint& checkpoint) {
  const PrefixMatcher meta(options.meta_pieces);
  const bool mark_merges = alphabet.sides_of(kSpaceMark).merges;
  WordTable chunks;
  std::string buffer;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i % kCheckpoint == 0 && checkpoint) checkpoint();
    const Word word = words.at(i);
    if (word.count == 0) continue;
    const TrainingForm form = training_form(word, options.add_dummy_prefix, meta, buffer);
    const char* const last = form.text.data() + form.text.size();
    const char* start = form.text.data();
    bool marked = form.marked && mark_merges;  // the chunk starts with ▁, which is not in its bytes
    size_t length = marked;                    // characters of the chunk
    uint8_t right = kAnyScript;                // the script at the chunk's right side
    const auto end_chunk = [&](const char* at, const char* next) {
      if (length >= 2) chunks.queue({start, static_cast<size_t>(at - start)}, !marked, word.count, last);
      start = next;
      marked = false;
      length = 0;
      right = kAnyScript;
    };
    for (const char* p = start; p < last;) {
      const Decoded c = decode_utf8(p, last);
      const char* const next = p + c.length;
      const Alphabet::Sides sides = alphabet.sides_of(c.code);
      if (!sides.merges) {
        end_chunk(p, next);
      } else if (c.code == kSpaceMark) {
        end_chunk(p, next);
        marked = true;
        length = 1;
      } else {
        if (right != sides.left && right != kAnyScript && sides.left != kAnyScript) end_chunk(p, p);
        ++length;
        right = sides.right;
      }
      p = next;
    }
    end_chunk(last, last);
  }
  chunks.flush();
  return chunks;
}

}  // namespace piecework
