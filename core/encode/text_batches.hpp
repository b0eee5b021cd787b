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

#include "system/scratch_pool.hpp"
#include "system/threads.hpp"

namespace piecework {

// The ids of several texts, one text after the other; those of text i end at `ends[i]`.
struct IdBatch {
  std::vector<uint32_t> ids;
  std::vector<size_t> ends;
};

// The first text of each group of about 256 KB, then the number of texts.
inline std::vector<size_t> group_starts(const std::vector<std::string_view>& texts) {
  constexpr size_t kGroup = 1 << 18;
  std::vector<size_t> starts{0};
  size_t bytes = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    bytes += texts[i].size() + 16;
    if (bytes >= kGroup || i + 1 == texts.size()) {
      starts.push_back(i + 1);
      bytes = 0;
    }
  }
  return starts;
}

// Takes the ids of a group of texts, and may keep them. Several threads call it, in any order.
using TakeBatch = std::function<void(size_t group, IdBatch& batch)>;

// `encode_text(text, scratch, ids)` appends the ids of a text.
template <class Scratch, class EncodeText>
void encode_groups(const std::vector<std::string_view>& texts, const std::vector<size_t>& starts, unsigned threads,
                   ScratchPool<Scratch>& scratches, EncodeText&& encode_text, const TakeBatch& take) {
  const size_t groups = starts.size() - 1;
  if (groups == 0) return;
  std::atomic<size_t> next{0};
  run_on_threads(std::min<size_t>(std::max(threads, 1U), groups), [&](size_t) {
    typename ScratchPool<Scratch>::Lease scratch(scratches);
    IdBatch batch;
    for (size_t group; (group = next.fetch_add(1)) < groups;) {
      batch.ids.clear();
      batch.ends.clear();
      for (size_t i = starts[group]; i < starts[group + 1]; ++i) {
        encode_text(texts[i], *scratch, batch.ids);
        batch.ends.push_back(batch.ids.size());
      }
      take(group, batch);
    }
  });
}

// All batches, in order, from `encode(starts, take)`.
template <class EncodeGroups>
std::vector<IdBatch> collect_batches(const std::vector<std::string_view>& texts, EncodeGroups&& encode) {
  const std::vector<size_t> starts = group_starts(texts);
  std::vector<IdBatch> batches(starts.size() - 1);
  encode(starts, [&](size_t group, IdBatch& batch) { std::swap(batches[group], batch); });
  return batches;
}

}  // namespace piecework
