// Text to tokens and back for any SentencePiece BPE model, with the ids that SentencePiece gives.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "encode/merge_trees.hpp"
#include "encode/merger.hpp"
#include "encode/prefix_encoder.hpp"
#include "encode/text_batches.hpp"
#include "encode/unit_scanner.hpp"
#include "model/model.hpp"
#include "system/huge_array.hpp"
#include "system/scratch_pool.hpp"
#include "text/hash.hpp"
#include "text/normalizer.hpp"
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

  // Appends the ids of `text`. Invalid UTF-8 counts as one U+FFFD for each bad byte.
  void encode(std::string_view text, std::vector<uint32_t>& ids) const;
  std::vector<TokenSpan> encode_spans(std::string_view text) const;
  // All merges from the characters of `text` to its tokens.
  std::vector<TextMerge> merges(std::string_view text) const;
  std::vector<IdBatch> encode_batch(const TextGroups& texts, unsigned threads) const;
  // The same, a group of texts at a time.
  void encode_groups(const TextGroups& texts, unsigned threads, const TakeBatch& take) const;
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

  void prepare();

  // The id of the user symbol that a unit is.
  std::optional<uint32_t> user_symbol(std::string_view unit) const;
  void put_traced(const Segment& segment, std::string_view unit, std::vector<TracedToken>& tokens) const;
  void put_special(const Segment& segment, std::string_view unit, std::vector<TracedToken>& tokens) const;
  template <class Put>
  void put_ids(const Segment& segment, std::string_view unit, Put&& put) const;
  uint32_t* encode_unit(std::string_view unit, Scratch& scratch, uint32_t* out) const;
  void encode_with(std::string_view text, bool known_valid, std::vector<uint32_t>& ids, Scratch& scratch) const;

  Model model_;
  Normalizer normalizer_;
  Merger merger_;
  Normalizer unit_normalizer_;
  UnitScanner units_;
  std::unordered_map<std::string, uint32_t, HashBytes, std::equal_to<>> user_symbol_ids_;
  uint32_t unknown_ = 0;
  std::array<uint32_t, 256> byte_ids_{};

  // Made at the first call that needs them.
  mutable std::once_flag growing_, indexing_;
  mutable std::unique_ptr<const MergeTrees> trees_;
  mutable std::unique_ptr<const SuffixIndex> suffixes_;

  mutable ScratchPool<Scratch> scratches_;
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
