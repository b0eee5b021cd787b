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

#include "hash.hpp"
#include "huge_array.hpp"
#include "model.hpp"
#include "normalizer.hpp"
#include "prefix_matcher.hpp"
#include "short_key.hpp"

namespace piecework {

// One token with its place in the text, in bytes. A byte piece that does not end its character is empty at its start.
struct TokenSpan {
  uint32_t id;
  size_t begin, end;
  std::string piece;  // what SentencePiece shows: the text itself where the id is <unk>
};

class Encoder {
 public:
  explicit Encoder(Model model);
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  const Model& model() const { return model_; }

  // Appends the ids of `text`.
  void encode(std::string_view text, std::vector<uint32_t>& ids) const;
  std::vector<TokenSpan> encode_spans(std::string_view text) const;
  // Each text's ids one after the other in `ids`; `ends[i]` is where those of text i end.
  struct Batch {
    std::vector<uint32_t> ids;
    std::vector<size_t> ends;
  };
  std::vector<Batch> encode_batch(const std::vector<std::string_view>& texts, unsigned threads) const;
  std::string decode(const std::vector<uint32_t>& ids) const;

 private:
  // What merging works on: pieces by id, then characters that are no piece but part of one.
  using SymbolId = uint32_t;
  static constexpr SymbolId kNoSymbol = UINT32_MAX;
  static constexpr uint32_t kNoRank = UINT32_MAX;

  // A token of the normalised text. `symbol` is a piece's id, or no piece.
  struct Segment {
    SymbolId symbol;
    uint32_t begin, length;
  };
  struct MergeRule {
    uint64_t pair = kEmptyPair;
    uint32_t rank = 0;  // 0 merges first; equal scores have equal ranks
    SymbolId merged = 0;
  };
  static constexpr uint64_t kEmptyPair = UINT64_MAX;
  struct Node;
  struct Scratch;
  struct Unit;
  class ScratchLease;

  void check() const;
  void build_symbols();
  void build_rules(const std::vector<std::string>& texts);
  SymbolId symbol_of(char32_t code) const;
  const MergeRule* find_rule(SymbolId left, SymbolId right) const;
  void add_rule(SymbolId left, SymbolId right, uint32_t rank, SymbolId merged);
  void grow_rules();

  // Where a unit that starts at `at` ends: the next place that no piece reaches across, or a user-defined symbol.
  size_t unit_end(std::string_view text, size_t at) const;
  void segment(std::string_view unit, Scratch& scratch) const;
  void merge_few(std::string_view unit, Scratch& scratch) const;
  void merge_many(Scratch& scratch) const;
  void put_segment(const Node& node, Scratch& scratch) const;
  template <class Put>
  void put_ids(const Segment& segment, std::string_view unit, Put&& put) const;
  uint32_t* put_unit(const Unit& unit, std::string_view bytes, Scratch& scratch, uint32_t* out) const;
  void encode_with(std::string_view text, std::vector<uint32_t>& ids, Scratch& scratch) const;

  Model model_;
  Normalizer normalizer_;
  PrefixMatcher symbols_;  // user-defined, as they stand in normalised text
  std::unordered_map<std::string, uint32_t, HashBytes, std::equal_to<>> symbol_ids_;
  uint32_t unknown_ = 0;
  std::array<uint32_t, 256> byte_ids_{};
  bool has_unused_ = false;

  std::array<SymbolId, 128> ascii_symbols_;
  std::unordered_map<char32_t, SymbolId> other_symbols_;
  HugeArray<MergeRule> rules_;  // open addressing
  // A bit for each rule at a place that its hash gives, to turn away pairs without one: 256 KB.
  static constexpr uint64_t kFilterMask = (1 << 17) - 1;
  std::vector<uint16_t> filter_;
  size_t rule_count_ = 0;
  uint64_t rule_mask_ = 0;
  // For two bytes that stand next to each other: kJoined where some piece has them so, kMayStart where the second may
  // start a user-defined symbol.
  static constexpr uint8_t kJoined = 1, kMayStart = 2;
  std::vector<uint8_t> boundaries_;
  std::array<uint32_t, 128> ascii_ids_;  // the id of a one-character unit, or kNoSymbol where it takes several

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace piecework
