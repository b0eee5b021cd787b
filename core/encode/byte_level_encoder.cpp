#include "encode/byte_level_encoder.hpp"

#include <utility>

#include "encode/id_cache.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

constexpr size_t kHuge = 1 << 24;        // bytes of a text after which a thread gives its memory back
constexpr size_t kWorthCache = 1 << 13;  // bytes of text after which a thread remembers pre-tokens

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
  struct Pending {
    IdCache::Key key;
    uint64_t hash;
  };

  std::optional<IdCache> cache;  // none until kWorthCache bytes were encoded
  size_t encoded_bytes = 0;
  Pending pending[PreTokenizer::kBlock];
  std::unique_ptr<uint32_t[]> ids;
  size_t room = 0;  // of ids
};

ByteLevelEncoder::ByteLevelEncoder(const ByteLevelModel& model, std::optional<PreTokenizer> pre_tokenizer)
    : pre_tokenizer_(std::move(pre_tokenizer)), merger_(model) {}

ByteLevelEncoder::~ByteLevelEncoder() = default;

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
  if (const size_t room = text.size() + IdCache::kMaxIds; scratch.room < room) {
    scratch.ids = std::make_unique_for_overwrite<uint32_t[]>(room);
    scratch.room = room;
  }
  uint32_t* const first = scratch.ids.get();
  uint32_t* out = first;
  const char* const limit = text.data() + text.size();
  if (!pre_tokenizer_ || !scratch.cache) {
    const auto put = [&](std::string_view pre_token) { out = merger_.encode(pre_token, out); };
    if (pre_tokenizer_) {
      pre_tokenizer_->for_each(text, put);
    } else {
      put(text);
    }
  } else {
    IdCache& cache = *scratch.cache;
    pre_tokenizer_->for_each_block(text, [&](size_t begin, const size_t* ends, size_t count) {
      // Makes all keys first, so that the processor fetches their lines of the cache from memory at the same time.
      for (size_t i = 0, at = begin; i < count; at = ends[i++]) {
        const size_t length = ends[i] - at;
        if (length > IdCache::kMaxBytes) continue;
        Scratch::Pending& pending = scratch.pending[i];
        pending.key = IdCache::Key::from(text.data() + at, length, limit);
        pending.hash = pending.key.hash();
        cache.prefetch(pending.hash);
      }
      for (size_t i = 0, at = begin; i < count; at = ends[i++]) {
        const size_t length = ends[i] - at;
        uint32_t* known = nullptr;
        if (length <= IdCache::kMaxBytes) known = cache.find(scratch.pending[i].key, scratch.pending[i].hash, out);
        if (known) [[likely]] {
          out = known;
          continue;
        }
        const std::string_view pre_token = text.substr(at, length);
        out = cache.find_or_encode(pre_token, limit, out, [&](uint32_t* to) { return merger_.encode(pre_token, to); });
      }
    });
  }
  ids.insert(ids.end(), first, out);
  if (text.size() > kHuge) {
    scratch.ids.reset();
    scratch.room = 0;
  }
}

void ByteLevelEncoder::encode_groups(const std::vector<std::string_view>& texts, const std::vector<size_t>& starts,
                                     bool known_valid, unsigned threads, const TakeBatch& take) const {
  const auto encode_valid = [&](std::string_view text, Scratch& scratch, std::vector<uint32_t>& ids) {
    if (!known_valid && find_invalid_utf8(text) != text.size()) {
      uint64_t replaced = 0;
      encode_text(replace_invalid_utf8(text, replaced), scratch, ids);
    } else {
      encode_text(text, scratch, ids);
    }
  };
  piecework::encode_groups(texts, starts, threads, scratches_, encode_valid, take);
}

std::vector<IdBatch> ByteLevelEncoder::encode_batch(const std::vector<std::string_view>& texts, bool known_valid,
                                                    unsigned threads) const {
  return collect_batches(texts, [&](const std::vector<size_t>& starts, const TakeBatch& take) {
    encode_groups(texts, starts, known_valid, threads, take);
  });
}

}  // namespace piecework
