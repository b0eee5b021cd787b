// Ids of documents as a training dataset stores them: 2 or 4 bytes each, one document after the other, with ids before
// and after each. Also the ids of a smaller vocabulary, from the same encoding.
//
// A smaller vocabulary has the first merges of a larger one, so a token of the larger one falls apart into the same
// tokens wherever it occurs (core/evaluate/smaller_sizes.hpp). Whitespace runs are in every size and merge last: where
// a token that starts with a space falls apart and leaves the space alone, the space joins the run before it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "encode/encoder.hpp"

namespace piecework {

// What each token of a vocabulary is in a smaller one.
class SmallerIds {
 public:
  // `ids`: for each token of the larger vocabulary its ids in the smaller one. `spaces`: the length of a token that is
  // a run of spaces, else 0; empty if runs need no care. `runs` encodes runs of spaces with the smaller vocabulary,
  // without a dummy prefix.
  SmallerIds(const std::vector<std::vector<uint32_t>>& ids, std::vector<uint32_t> spaces,
             std::shared_ptr<const Encoder> runs);

  // Appends the ids of `tokens`, which are all tokens of one text.
  void put(const uint32_t* first, const uint32_t* last, std::vector<uint32_t>& out) const;
  uint32_t largest_id() const { return largest_; }

 private:
  uint32_t* put_run(uint32_t spaces, size_t reserved, uint32_t* to, std::vector<uint32_t>& out) const;

  std::vector<uint32_t> begins_, ids_;
  std::vector<uint32_t> spaces_;
  std::vector<uint8_t> opens_;  // the first id is a single space
  std::shared_ptr<const Encoder> runs_;
  std::vector<std::vector<uint32_t>> short_runs_;
  uint32_t largest_ = 0;
};

class IdPacker {
 public:
  // Throws std::invalid_argument if `width` is not 2 or 4.
  IdPacker(unsigned width, std::vector<uint32_t> before, std::vector<uint32_t> after,
           std::shared_ptr<const SmallerIds> smaller);

  // The packed ids of several batches of texts, and the number of ids of each text.
  struct Packed {
    std::vector<std::vector<char>> parts;
    std::vector<uint32_t> lengths;
    size_t size_bytes() const;
  };
  // Throws std::overflow_error if an id does not fit: nothing is ever cut off.
  Packed pack(const std::vector<Encoder::Batch>& batches, unsigned threads) const;

 private:
  template <class Id>
  void pack_batch(const Encoder::Batch& batch, std::vector<char>& out, uint32_t* lengths) const;

  unsigned width_;
  std::vector<uint32_t> before_, after_;
  std::shared_ptr<const SmallerIds> smaller_;
};

}  // namespace piecework
