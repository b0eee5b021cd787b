#include "encode/id_packer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "system/threads.hpp"

namespace piecework {

namespace {
constexpr uint32_t kShortRun = 256;
}

SmallerIds::SmallerIds(const std::vector<std::vector<uint32_t>>& ids, std::vector<uint32_t> spaces,
                       std::shared_ptr<const Encoder> runs)
    : begins_{0}, spaces_(std::move(spaces)), opens_(ids.size(), 0), runs_(std::move(runs)) {
  if (spaces_.empty()) spaces_.resize(ids.size(), 0);
  if (spaces_.size() != ids.size()) throw std::invalid_argument("there must be as many lengths as tokens");
  for (const std::vector<uint32_t>& of_token : ids) {
    ids_.insert(ids_.end(), of_token.begin(), of_token.end());
    begins_.push_back(static_cast<uint32_t>(ids_.size()));
  }
  if (runs_) {
    short_runs_.resize(kShortRun);
    for (uint32_t n = 1; n < kShortRun; ++n) runs_->encode(std::string(n, ' '), short_runs_[n]);
    for (size_t token = 0; token < ids.size(); ++token) {
      opens_[token] = !spaces_[token] && !ids[token].empty() && short_runs_[1] == std::vector{ids[token][0]};
    }
  }
  for (const uint32_t id : ids_) largest_ = std::max(largest_, id);
  for (const auto& run : short_runs_) {
    for (const uint32_t id : run) largest_ = std::max(largest_, id);
  }
}

// Writes the ids of a run of spaces at `to`, which is in `out` and has room for `reserved` of them. Returns their end.
uint32_t* SmallerIds::put_run(uint32_t spaces, size_t reserved, uint32_t* to, std::vector<uint32_t>& out) const {
  std::vector<uint32_t> long_run;
  if (spaces >= kShortRun) runs_->encode(std::string(spaces, ' '), long_run);
  const std::vector<uint32_t>& run = spaces < kShortRun ? short_runs_[spaces] : long_run;
  if (run.size() > reserved) {
    const auto done = static_cast<size_t>(to - out.data());
    out.resize(out.size() + run.size() - reserved);
    to = out.data() + done;
  }
  return std::copy(run.begin(), run.end(), to);
}

void SmallerIds::put(const uint32_t* first, const uint32_t* last, std::vector<uint32_t>& out) const {
  // Room for all ids, so that the loop only writes. Runs that are cut anew may need more.
  const auto tokens = static_cast<size_t>(last - first);
  size_t ids = 0;
  for (size_t i = 0; i < tokens; ++i) {
    if (first[i] + 1 >= begins_.size()) throw std::out_of_range("a token is not in the larger vocabulary");
    ids += begins_[first[i] + 1] - begins_[first[i]];
  }
  const size_t start = out.size();
  out.resize(start + ids);
  uint32_t* to = out.data() + start;
  uint32_t spaces = 0;
  size_t reserved = 0;  // for the run
  for (; first < last; ++first) {
    const uint32_t token = *first;
    if (spaces_[token]) {
      spaces += spaces_[token];
      reserved += begins_[token + 1] - begins_[token];
      continue;
    }
    const uint32_t* begin = ids_.data() + begins_[token];
    const uint32_t* const end = ids_.data() + begins_[token + 1];
    if (spaces) {
      if (opens_[token]) {
        ++spaces;
        ++begin;
        ++reserved;
      }
      to = put_run(spaces, reserved, to, out);
      spaces = 0;
      reserved = 0;
    }
    while (begin < end) *to++ = *begin++;
  }
  if (spaces) to = put_run(spaces, reserved, to, out);
  out.resize(static_cast<size_t>(to - out.data()));
}

IdPacker::IdPacker(unsigned width, std::vector<uint32_t> before, std::vector<uint32_t> after,
                   std::shared_ptr<const SmallerIds> smaller)
    : width_(width), before_(std::move(before)), after_(std::move(after)), smaller_(std::move(smaller)) {
  if (width != 2 && width != 4) throw std::invalid_argument("an id takes 2 or 4 bytes");
}

size_t IdPacker::Packed::size_bytes() const {
  size_t size = 0;
  for (const auto& part : parts) size += part.size();
  return size;
}

template <class Id>
void IdPacker::pack_batch(const Encoder::Batch& batch, std::vector<char>& out, uint32_t* lengths) const {
  std::vector<uint32_t> projected;
  const uint32_t* ids = batch.ids.data();
  size_t count = batch.ids.size();
  std::vector<size_t> ends = batch.ends;
  if (smaller_) {
    projected.reserve(count + count / 4);
    size_t begin = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      smaller_->put(batch.ids.data() + begin, batch.ids.data() + batch.ends[i], projected);
      begin = batch.ends[i];
      ends[i] = projected.size();
    }
    ids = projected.data();
    count = projected.size();
  }
  out.resize((count + ends.size() * (before_.size() + after_.size())) * sizeof(Id));
  char* to = out.data();
  uint32_t seen = 0;  // all bits of all ids: one check for a whole batch
  const auto put = [&](const uint32_t* first, const uint32_t* last) {
    if constexpr (sizeof(Id) == sizeof(uint32_t)) {
      if (first != last) std::memcpy(to, first, static_cast<size_t>(last - first) * sizeof(Id));
      to += static_cast<size_t>(last - first) * sizeof(Id);
    } else {
      for (; first < last; ++first, to += sizeof(Id)) {
        seen |= *first;
        const auto id = static_cast<Id>(*first);
        std::memcpy(to, &id, sizeof(Id));
      }
    }
  };
  size_t begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    const size_t length = before_.size() + (ends[i] - begin) + after_.size();
    if (length > std::numeric_limits<int32_t>::max()) throw std::overflow_error("a document has 2^31 tokens or more");
    lengths[i] = static_cast<uint32_t>(length);
    put(before_.data(), before_.data() + before_.size());
    put(ids + begin, ids + ends[i]);
    put(after_.data(), after_.data() + after_.size());
    begin = ends[i];
  }
  if (seen > std::numeric_limits<Id>::max()) throw std::overflow_error("an id does not fit into 2 bytes");
}

IdPacker::Packed IdPacker::pack(const std::vector<Encoder::Batch>& batches, unsigned threads) const {
  Packed packed;
  std::vector<size_t> begins{0};
  for (const Encoder::Batch& batch : batches) begins.push_back(begins.back() + batch.ends.size());
  packed.parts.resize(batches.size());
  packed.lengths.resize(begins.back());
  if (batches.empty()) return packed;
  std::atomic<size_t> next{0};
  run_on_threads(std::min<size_t>(std::max(threads, 1U), batches.size()), [&](size_t) {
    for (size_t i; (i = next.fetch_add(1)) < batches.size();) {
      uint32_t* const lengths = packed.lengths.data() + begins[i];
      if (width_ == 2) {
        pack_batch<uint16_t>(batches[i], packed.parts[i], lengths);
      } else {
        pack_batch<uint32_t>(batches[i], packed.parts[i], lengths);
      }
    }
  });
  return packed;
}

}  // namespace piecework
