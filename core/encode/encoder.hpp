// Text to tokens and back for any SentencePiece BPE model, with the ids that SentencePiece gives.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "encode/merge_trees.hpp"
#include "encode/merger.hpp"
#include "encode/prefix_encoder.hpp"
#include "encode/text_batches.hpp"
#include "model/model.hpp"
#include "system/huge_array.hpp"
#include "system/scratch_pool.hpp"
#include "text/hash.hpp"
#include "text/normalizer.hpp"
#include "text/prefix_matcher.hpp"
#include "text/utf8.hpp"

namespace piecework {

// A token with its offsets in the text, in bytes. If a character is several byte pieces, the last one has the range of
// the character; the others have empty ranges at its start.
struct TokenSpan {
  uint32_t id;
  size_t begin, end;
  std::string piece;  // as SentencePiece prints it: for <unk> the text itself
};

// A merge that encoding a text performs. Offsets are in bytes of the text. `unit` is the index of the unit in the text;
// the merges of a unit are in the order in which they happen.
struct TextMerge {
  uint32_t piece;
  uint32_t unit;
  uint32_t begin, middle, end;
};

// A token of a unit, for evaluation. Offsets are in bytes of the normalised unit.
struct TracedToken {
  uint32_t id;
  uint32_t begin, end;  // of the character, for a byte piece
  bool starts;          // with ▁
};

class Encoder {
 public:
  explicit Encoder(Model model);
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  const Model& model() const { return model_; }
  const Normalizer& normalizer() const { return normalizer_; }

  // Appends the ids of `text`.
  void encode(std::string_view text, std::vector<uint32_t>& ids) const;
  std::vector<TokenSpan> encode_spans(std::string_view text) const;
  // All merges from the characters of `text` to its tokens.
  std::vector<TextMerge> merges(std::string_view text) const;
  std::vector<IdBatch> encode_batch(const std::vector<std::string_view>& texts, unsigned threads) const;
  // The same, a group of texts at a time: `starts` comes from group_starts().
  void encode_groups(const std::vector<std::string_view>& texts, const std::vector<size_t>& starts, unsigned threads,
                     const TakeBatch& take) const;
  std::string decode(const std::vector<uint32_t>& ids) const;

  // For evaluation: the tokens of a unit of normalised text. `prefixes` comes from prefix_encoder().
  void trace(std::string_view unit, PrefixEncoder& prefixes, std::vector<TracedToken>& tokens) const;
  PrefixEncoder prefix_encoder() const;
  const MergeTrees& trees() const;
  // Calls `use(left, right, merged)` for each pair of symbols that merges.
  template <class Use>
  void for_each_merge(Use&& use) const {
    merger_.for_each_merge(use);
  }
  size_t count_tokens(std::string_view normalized) const;
  // Whether merging alone decides how the text of a piece is encoded: it has several characters, no user symbol starts
  // in it, and normalisation does not change it.
  bool only_merges(uint32_t id) const;
  // Whether nothing merges with the character, and no user symbol contains it.
  bool is_border(char32_t code) const;
  // Whether normalisation changes more than adding the dummy prefix.
  bool normalizes() const { return !model_.charsmap.empty() || model_.remove_extra_whitespaces; }
  // For evaluation: the normalised text of a counted unit; `opens`: it is the first of a document. Throws ModelError if
  // this depends on the next unit.
  void normalize_unit(std::string_view unit, bool opens, std::string& out) const;
  // Throws ModelError unless the units of a text can be encoded one by one.
  void require_independent_units() const;
  // Whether text can also be cut before and after newlines.
  bool newlines_stand_alone() const;

 private:
  struct Scratch;
  struct PendingUnit;

  void prepare();

  // The end of the unit that starts at `at`: the next offset that no piece reaches across, or where a user symbol
  // starts.
  size_t unit_end(std::string_view text, size_t at) const;
  // Cuts a normalised text into user symbols and the text between them. Calls `on_symbol(begin, end, id)`, and
  // `on_text(begin, end)` where `end_of(begin)` is the end; from left to right.
  template <class EndOf, class OnSymbol, class OnText>
  void scan(std::string_view text, EndOf&& end_of, OnSymbol&& on_symbol, OnText&& on_text) const;
  // The same, but each call of `on_unit` gets one unit.
  template <class OnSymbol, class OnUnit>
  void scan_units(std::string_view text, OnSymbol&& on_symbol, OnUnit&& on_unit) const {
    scan(text, [&](size_t begin) { return unit_end(text, begin); }, on_symbol, on_unit);
  }
  void put_traced(const Segment& segment, std::string_view unit, std::vector<TracedToken>& tokens) const;
  void put_special(const Segment& segment, std::string_view unit, std::vector<TracedToken>& tokens) const;
  template <class Put>
  void put_ids(const Segment& segment, std::string_view unit, Put&& put) const;
  uint32_t* merge_unit(std::string_view unit, Scratch& scratch, uint32_t* out) const;
  void encode_with(std::string_view text, std::vector<uint32_t>& ids, Scratch& scratch) const;

  Model model_;
  Normalizer normalizer_;
  Merger merger_;
  Normalizer unit_normalizer_;
  PrefixMatcher user_symbols_;  // as they are in normalised text
  std::unordered_map<std::string, uint32_t, HashBytes, std::equal_to<>> user_symbol_ids_;
  uint32_t unknown_ = 0;
  std::array<uint32_t, 256> byte_ids_{};

  // By two adjacent bytes: kJoined if some piece has them side by side, kMayStart if the second may start a user
  // symbol.
  static constexpr uint8_t kJoined = 1, kMayStart = 2;
  std::vector<uint8_t> boundaries_;
  std::array<uint32_t, 128> ascii_ids_;  // the id of a one-character unit, or kNoSymbol if it has several

  // Made at the first call that needs them.
  mutable std::once_flag growing_, indexing_;
  mutable std::unique_ptr<const MergeTrees> trees_;
  mutable std::unique_ptr<const SuffixIndex> suffixes_;

  mutable ScratchPool<Scratch> scratches_;
};

template <class EndOf, class OnSymbol, class OnText>
[[gnu::always_inline]] inline void Encoder::scan(std::string_view text, EndOf&& end_of, OnSymbol&& on_symbol,
                                                 OnText&& on_text) const {
  for (size_t at = 0; at < text.size();) {
    const size_t length = user_symbols_.may_start(text[at]) ? user_symbols_.match(text.substr(at)) : 0;
    const size_t end = length ? at + length : end_of(at);
    if (length) {
      on_symbol(at, end, user_symbol_ids_.find(text.substr(at, length))->second);
    } else {
      on_text(at, end);
    }
    at = end;
  }
}

template <class Put>
void Encoder::put_ids(const Segment& segment, std::string_view unit, Put&& put) const {
  if (segment.symbol < model_.size()) {
    put(segment.symbol);
  } else if (!model_.byte_fallback) {
    put(unknown_);
  } else {
    for (const char c : unit.substr(segment.begin, segment.length)) {
      if (c == ' ' && model_.escape_whitespaces) {
        for (const char byte : kSpaceMarkUtf8) put(byte_ids_[static_cast<unsigned char>(byte)]);
      } else {
        put(byte_ids_[static_cast<unsigned char>(c)]);
      }
    }
  }
}

}  // namespace piecework
