#include "alphabet.hpp"

#include <algorithm>

#include "unicode_scripts.hpp"
#include "utf8.hpp"

namespace piecework {
namespace {

constexpr char32_t kBoundary = '\t';
constexpr size_t kCodePoints = 0x110000;
constexpr size_t kCheckpoint = 1 << 14;

uint8_t script_of(char32_t code) {
  if (code == 0x30FC) return kHan;  // the long vowel mark goes with kana
  const auto* range = std::upper_bound(std::begin(kScriptRanges), std::end(kScriptRanges), code,
                                       [](char32_t c, const ScriptRange& r) { return c < r.first; });
  if (range == std::begin(kScriptRanges)) return kCommon;
  --range;
  return code <= range->last ? range->script : kCommon;
}

bool is_digit(char32_t code) { return (code >= '0' && code <= '9') || (code >= 0xFF10 && code <= 0xFF19); }

bool may_hold_meta(std::string_view text, const PrefixMatcher& meta) {
  return std::any_of(text.begin(), text.end(), [&](char c) { return meta.may_start(c); });
}

}  // namespace

std::string_view training_form(const Word& word, bool add_dummy_prefix, const PrefixMatcher& meta,
                               std::string& buffer) {
  const bool marked = add_dummy_prefix || !word.opens_line;
  const bool search = !meta.empty() && (may_hold_meta(word.bytes, meta) || (marked && meta.may_start('\xE2')));
  if (!marked && !search) return word.bytes;
  buffer.assign(marked ? kSpaceMarkUtf8 : std::string_view());
  buffer.append(word.bytes);
  if (!search) return buffer;
  std::string replaced;
  for (std::string_view rest = buffer; !rest.empty();) {
    if (const size_t length = meta.match(rest)) {
      replaced += static_cast<char>(kBoundary);
      rest.remove_prefix(length);
    } else {
      const size_t length_one = decode_utf8(rest.data(), rest.data() + rest.size()).length;
      replaced.append(rest.substr(0, length_one));
      rest.remove_prefix(length_one);
    }
  }
  buffer = std::move(replaced);
  return buffer;
}

Alphabet::Alphabet(const WordTable& words, const TrainingOptions& options, const Checkpoint& checkpoint)
    : options_(options), indices_(kCodePoints, kNone) {
  const PrefixMatcher meta(options.meta_pieces);
  std::vector<uint64_t> counts(kCodePoints, 0);
  uint64_t all = 0;
  std::string buffer;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i % kCheckpoint == 0 && checkpoint) checkpoint();
    const Word word = words.at(i);
    const std::string_view form = training_form(word, options.add_dummy_prefix, meta, buffer);
    uint64_t length = 0;
    for (const char *p = form.data(), *last = p + form.size(); p < last;) {
      const Decoded c = decode_utf8(p, last);
      p += c.length;
      if (c.code == 0) continue;
      counts[c.code] += word.count;  // cannot overflow where the sum of all does not
      ++length;
    }
    all = add_counts(all, multiply_counts(length, word.count));
  }

  std::vector<bool> wanted(kCodePoints, false);
  for (const char32_t code : options.required_characters) {
    if (code != 0 && code < kCodePoints) wanted[code] = true;
  }
  std::vector<Character> found;
  for (char32_t code = 1; code < kCodePoints; ++code) {
    if (counts[code] || wanted[code]) found.push_back({code, counts[code]});
  }
  std::sort(found.begin(), found.end(), [&](const Character& a, const Character& b) {
    if (wanted[a.code] != wanted[b.code]) return static_cast<bool>(wanted[a.code]);
    return a.count != b.count ? a.count > b.count : a.code < b.code;
  });

  // Compared in float32 and before the character is added, as SentencePiece does: the last digit decides at the edge.
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
    never_merges_.push_back(code == kUnknownMark || (digit && options.split_digits) ||
                            options.max_piece_characters < 2);
    ScriptSpan span;
    if (!options.split_by_unicode_script || code == kSpaceMark) {
      // ▁ has no script, and without the rule nothing has one: it passes on what stands before it.
    } else if (digit && !options.split_by_number) {
      span.first = kAnyScript;
    } else {
      const uint8_t script = script_of(code);
      span.first = script;
      if (script != kInherited) span.last = script;
    }
    scripts_.push_back(span);
  }
}

bool Alphabet::never_adjacent(uint32_t left, uint32_t right) const {
  const ScriptSpan l = scripts_[left], r = scripts_[right];
  return l.last != kAnyScript && r.first != kInherited && r.first != kAnyScript && l.last != r.first;
}

WordTable cut_into_chunks(const WordTable& words, const Alphabet& alphabet, const TrainingOptions& options,
                          const Checkpoint& checkpoint) {
  const PrefixMatcher meta(options.meta_pieces);
  WordTable chunks;
  std::string buffer;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i % kCheckpoint == 0 && checkpoint) checkpoint();
    const Word word = words.at(i);
    if (word.count == 0) continue;
    const std::string_view form = training_form(word, options.add_dummy_prefix, meta, buffer);
    const char* const last = form.data() + form.size();
    const char* start = form.data();
    uint32_t previous = Alphabet::kNone;
    size_t length = 0;
    auto end_chunk = [&](const char* at) {
      if (length >= 2) {
        std::string_view chunk(start, static_cast<size_t>(at - start));
        const bool marked = chunk.starts_with(kSpaceMarkUtf8);
        if (marked) chunk.remove_prefix(kSpaceMarkUtf8.size());
        chunks.queue(chunk, !marked, word.count, last);
      }
      length = 0;
      start = at;
    };
    for (const char* p = start; p < last;) {
      const Decoded c = decode_utf8(p, last);
      const uint32_t index = alphabet.index_of(c.code);
      if (index == Alphabet::kNone || alphabet.never_merges(index)) {
        end_chunk(p);
        start = p + c.length;
        previous = Alphabet::kNone;
      } else {
        if (length && alphabet.never_adjacent(previous, index)) end_chunk(p);
        ++length;
        previous = index;
      }
      p += c.length;
    }
    end_chunk(last);
  }
  chunks.flush();
  return chunks;
}

}  // namespace piecework
