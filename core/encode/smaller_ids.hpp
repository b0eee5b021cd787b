// The ids of a smaller vocabulary, from the tokens of a larger one.
//
// A smaller vocabulary has the first merges of a larger one, so a token of the larger one falls apart into the same
// tokens wherever it occurs (core/evaluate/smaller_sizes.hpp). Whitespace runs are in every size and merge last: if a
// token that starts with a space is split after this space, the space joins the run before it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encode/encoder.hpp"
#include "encode/packed_buffer.hpp"

namespace piecework {

// The ids of each token of a vocabulary in a smaller vocabulary.
class SmallerIds {
 public:
  // `ids`: for each token of the larger vocabulary its ids in the smaller one. `spaces`: the length of a token that is
  // a run of spaces, else 0; empty if runs need no special treatment. `runs` encodes runs of spaces with the smaller
  // vocabulary, without a dummy prefix.
  SmallerIds(const std::vector<std::vector<uint32_t>>& ids, std::vector<uint32_t> spaces,
             std::shared_ptr<const Encoder> runs);

  size_t tokens() const { return begins_.size() - 1; }
  uint32_t largest_id() const { return largest_; }
  std::span<const uint32_t> ids(size_t token) const {
    return {ids_.data() + begins_[token], ids_.data() + begins_[token + 1]};
  }
  bool is_run(size_t token) const { return spaces_[token] != 0; }
  // Whether a run of spaces before the token is split again.
  bool joins_run(size_t token) const { return spaces_[token] || opens_[token]; }

  // Puts the ids of the run of spaces that starts at `first`, and of the token after it, into `out`, replacing what
  // was there. Returns the end of what was read.
  const uint32_t* take_run(const uint32_t* first, const uint32_t* last, std::vector<uint32_t>& out) const;

 private:
  std::vector<uint32_t> begins_, ids_;
  std::vector<uint32_t> spaces_;
  std::vector<uint8_t> opens_;  // the first id is a single space
  std::shared_ptr<const Encoder> runs_;
  std::vector<std::vector<uint32_t>> short_runs_;
  uint32_t largest_ = 0;
};

// The same as a table of ids of one width. Nearly all tokens have at most three ids: three are always written, and the
// next token goes after the first `count` of them. This is four times as fast as a loop over the ids, because the
// processor cannot predict the end of such a loop.
template <class Id>
class SmallerTable {
 public:
  // Throws std::overflow_error if an id does not fit.
  explicit SmallerTable(std::shared_ptr<const SmallerIds> smaller);

  // Appends the ids of all tokens of one text.
  void put(const uint32_t* first, const uint32_t* last, PackedBuffer& out) const;

 private:
  static constexpr size_t kShort = 3;
  static constexpr Id kRun = 4;
  struct Entry {
    Id ids[kShort];
    Id count;  // plus kRun for a run of spaces; 0 if there are more than kShort ids, or none
  };
  std::vector<Entry> entries_;
  std::shared_ptr<const SmallerIds> smaller_;
};

extern template class SmallerTable<uint16_t>;
extern template class SmallerTable<uint32_t>;

}  // namespace piecework
