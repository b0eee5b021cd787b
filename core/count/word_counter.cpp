#include "count/word_counter.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include "system/memory.hpp"
#include "system/threads.hpp"
#include "text/byte_scan.hpp"
#include "text/space_marks.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

constexpr size_t kSpan = 1 << 17;  // bytes that a thread takes at a time; longer documents are split at a newline

// Visits the separators of a text in order and queues the words between them.
class Splitter {
 public:
  Splitter(std::string_view text, Split how, uint64_t copies, CachedWords& words, CountStatistics& statistics)
      : last_(text.data() + text.size()),
        word_(text.data()),
        line_(text.data()),
        spaces_end_(text.data()),
        how_(how),
        copies_(copies),
        words_(words),
        statistics_(statistics) {}

  // Called for each byte that is a space, a newline or 0xE2, from left to right.
  void separator(const char* at) {
    const char c = *at;
    if (c == ' ') {
      if (how_ == Split::words) {
        end_word(at, at + 1);
      } else if (how_ == Split::space_runs) {
        if (at == spaces_end_) {
          ++spaces_end_;
        } else {
          end_word(at, at + 1);
        }
      }
    } else if (c == '\n') {
      end_line(at);
    } else if (last_ - at >= 3 && std::memcmp(at, kSpaceMarkUtf8.data(), 3) == 0) {
      end_word(at, at + 3);
    }
  }
  void end_line(const char* at) {
    if (at > line_) {
      end_word(at, at);
      ++statistics_.lines;
    }
    word_ = line_ = spaces_end_ = at + 1;
    opens_line_ = true;
  }
  void finish() {
    end_line(last_);
    for (const bool opens_line : {false, true}) {
      const uint64_t count = multiply_counts(empty_[opens_line], copies_);
      if (count) words_.add({last_, 0}, opens_line, count, last_);
    }
    words_.flush_long();
  }

 private:
  void end_word(const char* at, const char* next) {
    if (at == word_) {
      ++empty_[opens_line_];  // indentation gives many empty words: count them without a hash
    } else {
      words_.add({word_, static_cast<size_t>(at - word_)}, opens_line_, copies_, last_);
    }
    word_ = spaces_end_ = next;
    opens_line_ = false;
  }

  const char* last_;
  const char* word_;
  const char* line_;
  const char* spaces_end_;  // of the spaces at the start of the word
  Split how_;
  bool opens_line_ = true;
  uint64_t empty_[2] = {0, 0};
  uint64_t copies_;
  CachedWords& words_;
  CountStatistics& statistics_;
};

// The loop is a macro so that separators_avx2 is inlined into a function that may use AVX2.
#define PIECEWORK_SPLIT_LOOP(separators)                                \
  const char* p = text.data();                                          \
  const char* const last = p + text.size();                             \
  for (; last - p >= 64; p += 64) {                                     \
    for (uint64_t mask = separators(p); mask; mask &= mask - 1) {       \
      splitter.separator(p + std::countr_zero(mask));                   \
    }                                                                   \
  }                                                                     \
  for (; p < last; ++p) {                                               \
    if (*p == ' ' || *p == '\n' || *p == '\xE2') splitter.separator(p); \
  }

void split_baseline(std::string_view text, Splitter& splitter) { PIECEWORK_SPLIT_LOOP(separators_baseline) }

#if defined(__x86_64__)
__attribute__((target("avx2"))) void split_avx2(std::string_view text, Splitter& splitter) {
  PIECEWORK_SPLIT_LOOP(separators_avx2)
}
#endif
#undef PIECEWORK_SPLIT_LOOP

// Only Split::words tells ▁ from a space.
void split(std::string_view text, Split how, uint64_t copies, CachedWords& words, CountStatistics& statistics) {
  std::string spaced;
  if (how != Split::words && has_space_mark(text)) {
    spaced = replace_marks(text);
    text = spaced;
  }
  Splitter splitter(text, how, copies, words, statistics);
#if defined(__x86_64__)
  if (has_avx2()) {
    split_avx2(text, splitter);
    splitter.finish();
    return;
  }
#endif
  split_baseline(text, splitter);
  splitter.finish();
}

// Searches for the second byte of ▅, which is rare in most text. Done before counting, because a whole line is dropped.
bool contains_unknown_mark(std::string_view text) {
  const char* p = text.data();
  const char* const last = p + text.size();
  while ((p = static_cast<const char*>(std::memchr(p, '\x96', static_cast<size_t>(last - p))))) {
    if (p > text.data() && p + 1 < last && p[-1] == '\xE2' && p[1] == '\x85') return true;
    ++p;
  }
  return false;
}

}  // namespace

void count_document(std::string_view document, bool known_valid, const CountSettings& settings, CachedWords& words,
                    CountStatistics& statistics, uint64_t copies) {
  // Not as a structured binding: clang 14, which `make fuzz` uses on Debian, cannot capture one in a lambda.
  const size_t max_line_bytes = settings.max_line_bytes;
  const Normalizer* const normalizer = settings.normalizer.get();
  const Split how = settings.split;
  if (document.empty()) return;
  statistics.bytes += document.size();
  std::string repaired;
  if (max_line_bytes == 0 && !normalizer && !known_valid && find_invalid_utf8(document) != document.size()) {
    repaired = replace_invalid_utf8(document, statistics.invalid_bytes);
    document = repaired;
    known_valid = true;
  }
  if (max_line_bytes == 0 && !normalizer && !contains_unknown_mark(document)) {
    split(document, how, copies, words, statistics);
    return;
  }
  std::string normalized;
  const auto count_line = [&](std::string_view line) {
    if (normalizer) {
      // User symbols are normalised too: SentencePiece finds them in the normalised line.
      normalizer->normalize(line, normalized);
      line = normalized;
    }
    split(line, how, copies, words, statistics);
  };
  while (!document.empty()) {
    const size_t end = document.find('\n');
    std::string_view line = document.substr(0, end);
    document.remove_prefix(end == document.npos ? document.size() : end + 1);
    // The limit applies to the original bytes, before invalid ones are replaced.
    if (max_line_bytes && line.size() > max_line_bytes) {
      ++statistics.long_lines;
    } else if (contains_unknown_mark(line)) {
      ++statistics.marked_lines;
    } else if (!known_valid && find_invalid_utf8(line) != line.size()) {
      repaired = replace_invalid_utf8(line, statistics.invalid_bytes);
      // The rules do not apply to the U+FFFD of an invalid byte: nmt_nfkc makes a space of a U+FFFD in the text.
      count_line(normalizer ? line : repaired);
    } else {
      count_line(line);
    }
  }
}

void WordCounter::add(const std::vector<std::string_view>& documents, bool known_valid, uint64_t copies) {
  std::vector<std::string_view> spans;
  spans.reserve(documents.size());
  for (std::string_view rest : documents) {
    while (lanes_.size() > 1 && rest.size() > kSpan) {
      const size_t newline = rest.find('\n', kSpan);
      if (newline == rest.npos) break;
      spans.push_back(rest.substr(0, newline + 1));
      rest.remove_prefix(newline + 1);
    }
    spans.push_back(rest);
  }
  if (spans.empty()) return;
  std::vector<size_t> starts{0};  // first spans of the groups; a thread takes a group at a time
  size_t group_bytes = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    group_bytes += spans[i].size();
    if (group_bytes >= kSpan || i + 1 == spans.size()) {
      starts.push_back(i + 1);
      group_bytes = 0;
    }
  }
  std::atomic<size_t> next{0};
  auto work = [&](Lane& lane) {
    for (size_t group; (group = next.fetch_add(1)) + 1 < starts.size();) {
      for (size_t i = starts[group]; i < starts[group + 1]; ++i) {
        count_document(spans[i], known_valid, settings_, lane.words, lane.statistics, copies);
      }
    }
  };
  run_on_threads(std::min(lanes_.size(), starts.size() - 1), [&](size_t t) { work(lanes_[t]); });
  for (Lane& lane : lanes_) {
    statistics_ += lane.statistics;
    lane.statistics = {};
  }
}

size_t WordCounter::memory_bytes() const {
  size_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.words.memory_bytes();
  return sum;
}

WordTable WordCounter::finish() {
  WordTable all = lanes_[0].words.take();
  for (size_t t = 1; t < lanes_.size(); ++t) all.merge(lanes_[t].words.take());
  return_freed_memory();  // measured: 60 MB after counting 100 MB of text
  return all;
}

}  // namespace piecework
