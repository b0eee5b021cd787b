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
  std::optional<IdCache> cache;  // none until kWorthCache bytes were encoded
  size_t encoded_bytes = 0;
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
  const auto encode = [this](std::string_view pre_token, uint32_t* to) { return merger_.encode(pre_token, to); };
  if (!pre_tokenizer_) {
    out = encode(text, out);
  } else if (!scratch.cache) {
    pre_tokenizer_->for_each(text, [&](std::string_view pre_token) { out = encode(pre_token, out); });
  } else {
    static_assert(PreTokenizer::kBlock <= IdCache::kBlock);
    const char* const limit = text.data() + text.size();
    pre_tokenizer_->for_each_block(text, [&](size_t begin, const size_t* ends, size_t count) {
      out = scratch.cache->encode_block(text, begin, ends, count, limit, out, encode);
    });
  }
  ids.insert(ids.end(), first, out);
  if (text.size() > kHuge) {
    scratch.ids.reset();
    scratch.room = 0;
  }
}

void ByteLevelEncoder::encode_groups(const TextGroups& texts, unsigned threads, const TakeBatch& take) const {
  const auto encode_valid = [&](std::string_view text, bool known_valid, Scratch& scratch, std::vector<uint32_t>& ids) {
    if (!known_valid && find_invalid_utf8(text) != text.size()) {
      uint64_t replaced = 0;
      encode_text(replace_invalid_utf8(text, replaced), scratch, ids);
    } else {
      encode_text(text, scratch, ids);
    }
  };
  piecework::encode_groups(texts, threads, scratches_, encode_valid, take);
}

std::vector<IdBatch> ByteLevelEncoder::encode_batch(const TextGroups& texts, unsigned threads) const {
  return collect_batches(texts, [&](const TakeBatch& take) { encode_groups(texts, threads, take); });
}

}  // namespace piecework
