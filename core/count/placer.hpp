// Decides how each document of a subset is used: for training, for evaluation or not at all, by a hash of its text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/blake2b.hpp"

namespace piecework {

struct Placement {
  uint64_t rank;    // the hash
  uint64_t copies;  // for training; 0 for an evaluation document
  bool evaluation;
  uint8_t bucket;
};

// The limits of piecework.corpus.sampling.Sampler for one subset. They are inclusive, so that 2⁶⁴ is representable.
struct PlacementLimits {
  uint64_t last_not_evaluated;  // greater hashes evaluate
  uint64_t last_trainable;      // greater hashes never train
  uint64_t last_of_more;        // hashes up to this one train more_copies times, the others fewer_copies times
  uint64_t more_copies;
  uint64_t fewer_copies;
};

class Placer {
 public:
  static constexpr uint8_t kBuckets = 32;

  Placer(uint64_t seed, PlacementLimits limits) : hash_(seed), limits_(limits) {}

  Placement place(std::string_view text) const { return placement(hash_.digest(text)); }
  // The placement of each text. This is faster than one call for each text.
  std::vector<Placement> place(const std::vector<std::string_view>& texts) const {
    std::vector<Placement> placements;
    placements.reserve(texts.size());
    for (const KeyedBlake2b::Digest& digest : hash_.digests(texts)) placements.push_back(placement(digest));
    return placements;
  }

 private:
  Placement placement(const KeyedBlake2b::Digest& digest) const {
    const auto bucket = static_cast<uint8_t>((digest.high >> 56) % kBuckets);
    const uint64_t rank = digest.low;
    if (rank > limits_.last_not_evaluated) return {rank, 0, true, bucket};
    if (rank > limits_.last_trainable) return {rank, 0, false, bucket};
    return {rank, rank <= limits_.last_of_more ? limits_.more_copies : limits_.fewer_copies, false, bucket};
  }

  KeyedBlake2b hash_;
  PlacementLimits limits_;
};

// Totals of the documents of a batch that have the same use.
struct PlacedSide {
  uint64_t documents = 0;
  uint64_t characters = 0;
  uint64_t bytes = 0;
};

// The best passage to show so far. A passage of an evaluation document is better than any other passage.
struct BestPassage {
  bool exists = false;
  bool is_trained_on = false;
  bool is_short = false;
  uint64_t rank = 0;

  // Whether the passage of a document could be better: false is certain, true is not.
  bool may_be_beaten_by(const Placement& placement, uint64_t characters, uint64_t long_enough) const {
    if (!exists) return true;
    const bool other_is_trained_on = !placement.evaluation;
    if (other_is_trained_on != is_trained_on) return is_trained_on;
    return (is_short && characters >= long_enough) || placement.rank < rank;
  }
};

struct PlacedBatch {
  PlacedSide train, eval, unused;
  uint64_t train_copies = 0;
  std::vector<uint32_t> passages;  // documents whose passage could be better than the best
};

}  // namespace piecework
