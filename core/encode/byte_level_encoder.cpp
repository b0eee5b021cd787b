#include "encode/byte_level_encoder.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "encode/pre_token_cache.hpp"
#include "system/threads.hpp"
#include "text/short_key.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

constexpr size_t kGroup = 1 << 18;       // bytes that a thread takes at a time
constexpr size_t kHuge = 1 << 24;        // bytes of a text after which a thread gives its memory back
constexpr size_t kWorthCache = 1 << 13;  // bytes of text from which a thread remembers pre-tokens

// `write` writes the ids of a pre-token to a given address, at most one for each byte.
template <class Write>
void append(std::string_view pre_token, std::vector<uint32_t>& ids, Write&& write) {
  const size_t first = ids.size();
  ids.resize(first + pre_token.size());
  ids.resize(static_cast<size_t>(write(ids.data() + first) - ids.data()));
}

}  // namespace

// What one thread needs, kept between calls.
struct ByteLevelEncoder::Scratch {
  // A pre-token of more bytes or more ids than PreTokenCache takes.
  struct Long {
    static constexpr size_t kMaxIds = 9;
    ShortKey key{{0, 0, 0}};  // the empty key is no pre-token
    uint32_t count = 0;
    uint32_t ids[kMaxIds] = {};
  };
  static_assert(sizeof(Long) == 64);
  static constexpr size_t kLong = 1 << 16;
  struct Pending {
    PreTokenCache::Key key;
    uint64_t hash;
  };

  std::optional<PreTokenCache> cache;  // none until kWorthCache bytes were encoded
  HugeArray<Long> long_cache;
  size_t encoded_bytes = 0;
  Pending pending[PreTokenizer::kBlock];
  std::unique_ptr<uint32_t[]> ids;
  size_t room = 0;  // of ids
};

ByteLevelEncoder::ByteLevelEncoder(const ByteLevelModel& model, std::optional<PreTokenizer> pre_tokenizer)
    : pre_tokenizer_(std::move(pre_tokenizer)), merger_(model) {}

ByteLevelEncoder::~ByteLevelEncoder() = default;

// A pre-token that is not in the first cache.
uint32_t* ByteLevelEncoder::put_long(std::string_view pre_token, const char* limit, Scratch& scratch,
                                     uint32_t* out) const {
  if (pre_token.size() > ShortKey::kMaxLength || !scratch.cache) return merger_.encode(pre_token, out);
  if (scratch.long_cache.empty()) scratch.long_cache = {Scratch::kLong, {}};
  const ShortKey key = limit - pre_token.data() >= 24
                           ? ShortKey::from_readable(pre_token.data(), pre_token.size(), false)
                           : ShortKey::from_exact(pre_token.data(), pre_token.size(), false);
  // Two slots for each pre-token, the newer first.
  const size_t index = key.hash() & (Scratch::kLong - 1);
  Scratch::Long &slot = scratch.long_cache[index], &older = scratch.long_cache[index ^ 1];
  if (const Scratch::Long* hit = slot.key == key ? &slot : older.key == key ? &older : nullptr) {
    return std::copy_n(hit->ids, hit->count, out);
  }
  uint32_t* const end = merger_.encode(pre_token, out);
  const auto count = static_cast<size_t>(end - out);
  if (pre_token.size() <= PreTokenCache::kMaxBytes && count <= PreTokenCache::kMaxIds) {
    scratch.cache->add(PreTokenCache::key_of(pre_token.data(), pre_token.size(), limit), out, count);
  } else if (count <= Scratch::Long::kMaxIds) {
    older = slot;
    slot.key = key;
    slot.count = static_cast<uint32_t>(count);
    std::copy_n(out, count, slot.ids);
  }
  return end;
}

void ByteLevelEncoder::encode_pre_token(std::string_view pre_token, std::vector<uint32_t>& ids) const {
  if (pre_token.empty()) return;
  append(pre_token, ids, [&](uint32_t* out) { return merger_.encode(pre_token, out); });
}

void ByteLevelEncoder::merge(std::string_view pre_token, std::vector<uint32_t>& ids) const {
  append(pre_token, ids, [&](uint32_t* out) { return merger_.merge(pre_token, out); });
}

void ByteLevelEncoder::encode_text(std::string_view text, Scratch& scratch, std::vector<uint32_t>& ids) const {
  if (text.empty()) return;
  scratch.encoded_bytes += text.size();
  if (!scratch.cache && scratch.encoded_bytes >= kWorthCache) scratch.cache.emplace();
  // A byte makes at most one token; the cache always writes kMaxIds.
  if (const size_t room = text.size() + PreTokenCache::kMaxIds; scratch.room < room) {
    scratch.ids = std::make_unique_for_overwrite<uint32_t[]>(room);
    scratch.room = room;
  }
  uint32_t* const first = scratch.ids.get();
  uint32_t* out = first;
  const char* const limit = text.data() + text.size();
  if (!pre_tokenizer_ || !scratch.cache) {
    const auto put = [&](std::string_view pre_token) { out = put_long(pre_token, limit, scratch, out); };
    if (pre_tokenizer_) {
      pre_tokenizer_->for_each(text, put);
    } else {
      put(text);
    }
  } else {
    PreTokenCache& cache = *scratch.cache;
    pre_tokenizer_->for_each_block(text, [&](size_t begin, const size_t* ends, size_t count) {
      // First the keys of all, so that the processor fetches their lines of the cache from memory at the same time.
      for (size_t i = 0, at = begin; i < count; at = ends[i++]) {
        const size_t length = ends[i] - at;
        if (length > PreTokenCache::kMaxBytes) continue;
        Scratch::Pending& pending = scratch.pending[i];
        pending.key = PreTokenCache::key_of(text.data() + at, length, limit);
        pending.hash = pending.key.hash();
        cache.prefetch(pending.hash);
      }
      for (size_t i = 0, at = begin; i < count; at = ends[i++]) {
        const size_t length = ends[i] - at;
        uint32_t* end = nullptr;
        if (length <= PreTokenCache::kMaxBytes) end = cache.find(scratch.pending[i].key, scratch.pending[i].hash, out);
        out = end ? end : put_long(text.substr(at, length), limit, scratch, out);
      }
    });
  }
  ids.insert(ids.end(), first, out);
  if (text.size() > kHuge) {
    scratch.ids.reset();
    scratch.room = 0;
  }
}

std::vector<Encoder::Batch> ByteLevelEncoder::encode_batch(const std::vector<std::string_view>& texts, bool known_valid,
                                                           unsigned threads) const {
  // Groups of about 256 KB, so that threads share the work evenly and results stay in order.
  std::vector<size_t> starts{0};
  size_t bytes = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    bytes += texts[i].size() + 16;
    if (bytes >= kGroup || i + 1 == texts.size()) {
      starts.push_back(i + 1);
      bytes = 0;
    }
  }
  std::vector<Encoder::Batch> batches(starts.size() - 1);
  if (batches.empty()) return batches;
  std::atomic<size_t> next{0};
  run_on_threads(std::min<size_t>(std::max(threads, 1U), batches.size()), [&](size_t) {
    ScratchPool<Scratch>::Lease scratch(scratches_);
    for (size_t group; (group = next.fetch_add(1)) < batches.size();) {
      Encoder::Batch& batch = batches[group];
      for (size_t i = starts[group]; i < starts[group + 1]; ++i) {
        if (!known_valid && find_invalid_utf8(texts[i]) != texts[i].size()) {
          uint64_t replaced = 0;
          encode_text(replace_invalid_utf8(texts[i], replaced), *scratch, batch.ids);
        } else {
          encode_text(texts[i], *scratch, batch.ids);
        }
        batch.ends.push_back(batch.ids.size());
      }
    }
  });
  return batches;
}

}  // namespace piecework
