// Encodes many texts on several threads: in groups, so that threads share the work evenly and results stay in order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "encode/text_groups.hpp"
#include "system/scratch_pool.hpp"
#include "system/threads.hpp"

namespace piecework {

// The ids of several texts, one text after the other; those of text i end at `ends[i]`.
struct IdBatch {
  std::vector<uint32_t> ids;
  std::vector<size_t> ends;
};

// Takes the ids of a group of texts, and may keep them. Several threads call it, in any order.
using TakeBatch = std::function<void(size_t group, IdBatch& batch)>;

// `encode_text(text, known_valid, scratch, ids)` appends the ids of a text.
template <class Scratch, class EncodeText>
void encode_groups(const TextGroups& texts, unsigned threads, ScratchPool<Scratch>& scratches, EncodeText&& encode_text,
                   const TakeBatch& take) {
  if (texts.size() == 0) return;
  std::atomic<size_t> next{0};
  run_on_threads(std::min<size_t>(std::max(threads, 1U), texts.size()), [&](size_t) {
    typename ScratchPool<Scratch>::Lease scratch(scratches);
    TextGroup group;
    IdBatch batch;
    for (size_t number; (number = next.fetch_add(1)) < texts.size();) {
      texts.read(number, group);
      batch.ids.clear();
      batch.ends.clear();
      for (const std::string_view text : group.texts) {
        encode_text(text, group.known_valid, *scratch, batch.ids);
        batch.ends.push_back(batch.ids.size());
      }
      take(number, batch);
    }
  });
}

// All batches, in order, from `encode(take)`.
template <class EncodeGroups>
std::vector<IdBatch> collect_batches(const TextGroups& texts, EncodeGroups&& encode) {
  std::vector<IdBatch> batches(texts.size());
  encode([&](size_t group, IdBatch& batch) { std::swap(batches[group], batch); });
  return batches;
}

}  // namespace piecework
