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
#include "encode/normalizer.hpp"
#include "encode/prefix_encoder.hpp"
#include "model/model.hpp"
#include "system/huge_array.hpp"
#include "text/hash.hpp"
#include "text/prefix_matcher.hpp"
#include "text/short_key.hpp"
#include "text/utf8.hpp"

namespace piecework {

// One token with its place in the text, in bytes. A byte piece that does not end its character is empty at its start.
struct TokenSpan {
  uint32_t id;
  size_t begin, end;
  std::string piece;  // what SentencePiece shows: the text itself where the id is <unk>
};

// One merge that encoding a text performs. Places are in bytes of the text; `unit` numbers the stretches that are
// encoded on their own, and a unit's merges are in the order in which they happen.
struct TextMerge {
  uint32_t piece;
  uint32_t unit;
  uint32_t begin, middle, end;
};

// A token of a unit, for evaluation. Places are in bytes of the normalised text.
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
  // Every merge on the way from the characters of `text` to its tokens.
  std::vector<TextMerge> merges(std::string_view text) const;
  // Each text's ids one after the other in `ids`; `ends[i]` is where those of text i end.
  struct Batch {
    std::vector<uint32_t> ids;
    std::vector<size_t> ends;
  };
  std::vector<Batch> encode_batch(const std::vector<std::string_view>& texts, unsigned threads) const;
  std::string decode(const std::vector<uint32_t>& ids) const;

  // For evaluation: the tokens of a unit that is given as normalised text. `prefixes` is one that prefix_encoder made.
  void trace(std::string_view unit, PrefixEncoder& prefixes, std::vector<TracedToken>& tokens) const;
  PrefixEncoder prefix_encoder() const;
  const MergeTrees& trees() const;
  // Calls `use(left, right, merged)` for each two symbols that are merged where they stand side by side.
  template <class Use>
  void for_each_merge(Use&& use) const {
    merger_.for_each_merge(use);
  }
  size_t count_tokens(std::string_view normalized) const;
  // Whether merging alone decides what becomes of a piece's text: it has several characters, no user-defined symbol
  // starts in it, and it comes through normalisation as it is.
  bool only_merges(uint32_t id) const;
  // Whether nothing merges with the character, and it is in no user-defined symbol.
  bool is_border(char32_t code) const;
  // Throws ModelError unless text can be cut before each run of spaces.
  void require_independent_units() const;
  // Whether text can be cut before and after newlines as well.
  bool newlines_stand_alone() const;

 private:
  struct Scratch;
  struct Unit;
  class ScratchLease;

  void prepare();

  // Where a unit that starts at `at` ends: the next place that no piece reaches across, or a user-defined symbol.
  size_t unit_end(std::string_view text, size_t at) const;
  void put_traced(const Segment& segment, std::string_view unit, std::vector<TracedToken>& tokens) const;
  void put_special(const Segment& segment, std::string_view unit, std::vector<TracedToken>& tokens) const;
  template <class Put>
  void put_ids(const Segment& segment, std::string_view unit, Put&& put) const;
  uint32_t* put_unit(const Unit& unit, std::string_view bytes, Scratch& scratch, uint32_t* out) const;
  void encode_with(std::string_view text, std::vector<uint32_t>& ids, Scratch& scratch) const;

  Model model_;
  Normalizer normalizer_;
  Merger merger_;
  PrefixMatcher symbols_;  // user-defined, as they stand in normalised text
  std::unordered_map<std::string, uint32_t, HashBytes, std::equal_to<>> symbol_ids_;
  uint32_t unknown_ = 0;
  std::array<uint32_t, 256> byte_ids_{};

  // For two bytes that stand next to each other: kJoined where some piece has them so, kMayStart where the second may
  // start a user-defined symbol.
  static constexpr uint8_t kJoined = 1, kMayStart = 2;
  std::vector<uint8_t> boundaries_;
  std::array<uint32_t, 128> ascii_ids_;  // the id of a one-character unit, or kNoSymbol where it takes several

  // Made when somebody asks for them.
  mutable std::once_flag growing_, indexing_;
  mutable std::unique_ptr<const MergeTrees> trees_;
  mutable std::unique_ptr<const SuffixIndex> suffixes_;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> idle_;
};

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
