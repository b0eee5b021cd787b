#include "encode/byte_level_encoder.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <queue>
#include <utility>

#include "system/threads.hpp"
#include "text/short_key.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

constexpr size_t kFew = 48;                      // bytes; up to here a scan for the best pair beats a queue
constexpr size_t kGroup = 1 << 18;               // bytes that a thread takes at a time
constexpr size_t kWorthCache = 1 << 16;          // bytes of text from which a thread remembers pre-tokens
constexpr uint64_t kFilterMask = (1 << 17) - 1;  // words of 64 bits: 1 MB

uint64_t pair_key(uint32_t left, uint32_t right) { return static_cast<uint64_t>(left) << 32 | right; }

}  // namespace

// What one thread needs, kept between calls.
struct ByteLevelEncoder::Scratch {
  struct Cached {
    static constexpr size_t kMaxIds = 9;
    ShortKey key{{0, 0, 0}};  // the empty key is no pre-token
    uint32_t count = 0;
    uint32_t ids[kMaxIds] = {};
  };
  static_assert(sizeof(Cached) == 64);
  static constexpr size_t kCache = 1 << 17;

  HugeArray<Cached> cache;  // empty until kWorthCache bytes were encoded
  size_t encoded_bytes = 0;
};

ByteLevelEncoder::ByteLevelEncoder(ByteLevelModel model, std::optional<PreTokenizer> pre_tokenizer)
    : pre_tokenizer_(std::move(pre_tokenizer)), filter_(kFilterMask + 1, 0), byte_rules_(256 * 256) {
  std::array<bool, 256> has_byte{};
  for (uint32_t id = 0; id < model.tokens.size(); ++id) {
    const std::string& token = model.tokens[id];
    if (token.size() == 1) {
      const auto byte = static_cast<unsigned char>(token[0]);
      byte_ids_[byte] = id;
      has_byte[byte] = true;
    }
    if ((model.whole_pre_tokens || !model.merges) && !token.empty()) {
      if (!ids_.emplace(token, id).second) {
        throw ModelError("the vocabulary has the same token twice: ids " + std::to_string(ids_.find(token)->second) +
                         " and " + std::to_string(id));
      }
    }
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!has_byte[byte]) throw ModelError("the vocabulary has no token for the byte " + std::to_string(byte));
  }
  if (model.merges) {
    add_rules(model);
  } else {
    add_rules_of_splits(model);
  }
  if (!model.whole_pre_tokens) ids_.clear();
}

ByteLevelEncoder::~ByteLevelEncoder() = default;

void ByteLevelEncoder::add_rules(const ByteLevelModel& model) {
  std::vector<Rule> rules;
  rules.reserve(model.merges->size());
  const size_t size = model.tokens.size();
  for (uint32_t rank = 0; rank < model.merges->size(); ++rank) {
    const auto [left, right, merged] = (*model.merges)[rank];
    if (left >= size || right >= size || merged >= size ||
        model.tokens[left] + model.tokens[right] != model.tokens[merged]) {
      throw ModelError("merge " + std::to_string(rank) + " does not spell the token that it makes");
    }
    rules.push_back({pair_key(left, right), rank, merged});
  }
  put_rules(rules);
}

void ByteLevelEncoder::add_rules_of_splits(const ByteLevelModel& model) {
  std::vector<Rule> rules;
  for (uint32_t id = 0; id < model.tokens.size(); ++id) {
    const std::string_view token = model.tokens[id];
    for (size_t middle = 1; middle < token.size(); ++middle) {
      const auto left = ids_.find(token.substr(0, middle));
      if (left == ids_.end()) continue;
      const auto right = ids_.find(token.substr(middle));
      if (right != ids_.end()) rules.push_back({pair_key(left->second, right->second), id, id});
    }
  }
  put_rules(rules);
}

void ByteLevelEncoder::put_rules(const std::vector<Rule>& rules) {
  rules_ = {std::bit_ceil(rules.size() * 2 + 2), Rule{}};
  mask_ = rules_.size() - 1;
  for (const Rule& rule : rules) {
    const uint64_t hash = hash_pair(rule.pair >> 32, rule.pair & UINT32_MAX);
    size_t at = hash & mask_;
    while (rules_[at].pair != UINT64_MAX && rules_[at].pair != rule.pair) at = (at + 1) & mask_;
    rules_[at] = rule;  // of a merge that is listed twice the later counts, as in tokenizers
    filter_[hash >> 40 & kFilterMask] |= uint64_t{1} << (hash >> 58);
  }
  for (size_t left = 0; left < 256; ++left) {
    for (size_t right = 0; right < 256; ++right) {
      if (const Rule* rule = find(byte_ids_[left], byte_ids_[right])) byte_rules_[left << 8 | right] = *rule;
    }
  }
}

inline const ByteLevelEncoder::Rule* ByteLevelEncoder::find(uint32_t left, uint32_t right) const {
  const uint64_t hash = hash_pair(left, right);
  if (!(filter_[hash >> 40 & kFilterMask] >> (hash >> 58) & 1)) return nullptr;
  const uint64_t pair = pair_key(left, right);
  for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
    if (rules_[at].pair == pair) return &rules_[at];
    if (rules_[at].pair == UINT64_MAX) return nullptr;
  }
}

// Arrays are by the offset of a symbol's first byte. A key is the rank of the pair that starts there, and the offset.
void ByteLevelEncoder::merge_few(std::string_view pre_token, std::vector<uint32_t>& ids) const {
  constexpr uint64_t kNone = UINT64_MAX;
  const size_t n = pre_token.size();
  uint32_t symbols[kFew], merged[kFew];
  uint64_t keys[kFew + 1];
  uint8_t next[kFew + 1], previous[kFew + 1];
  const auto* bytes = reinterpret_cast<const unsigned char*>(pre_token.data());
  for (size_t i = 0; i < n; ++i) {
    symbols[i] = byte_ids_[bytes[i]];
    next[i] = static_cast<uint8_t>(i + 1);
    previous[i + 1] = static_cast<uint8_t>(i);
    keys[i] = kNone;
    if (i + 1 < n) {
      const Rule& rule = byte_rules_[static_cast<size_t>(bytes[i]) << 8 | bytes[i + 1]];
      if (rule.rank != UINT32_MAX) keys[i] = static_cast<uint64_t>(rule.rank) << 8 | i;
      merged[i] = rule.merged;
    }
  }
  const auto look_up = [&](size_t left, size_t right) {
    const Rule* rule = find(symbols[left], symbols[right]);
    keys[left] = rule ? static_cast<uint64_t>(rule->rank) << 8 | left : kNone;
    if (rule) merged[left] = rule->merged;
  };
  for (;;) {
    uint64_t best = kNone;
    for (size_t i = 0; i < n; ++i) best = std::min(best, keys[i]);
    if (best == kNone) break;
    const size_t left = best & 0xFF, right = next[left], after = next[right];
    symbols[left] = merged[left];
    keys[left] = keys[right] = kNone;
    next[left] = static_cast<uint8_t>(after);
    previous[after] = static_cast<uint8_t>(left);
    if (after < n) look_up(left, after);
    if (left > 0) look_up(previous[left], left);
  }
  for (size_t i = 0; i < n; i = next[i]) ids.push_back(symbols[i]);
}

void ByteLevelEncoder::merge_many(std::string_view pre_token, std::vector<uint32_t>& ids) const {
  struct Node {
    uint32_t symbol;
    size_t previous, next;
    bool merged_away = false;
  };
  struct Candidate {
    uint32_t rank;
    size_t left, right;
    uint64_t pair;
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
  };
  const size_t n = pre_token.size();
  std::vector<Node> nodes(n);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto look_up = [&](size_t left, size_t right) {
    if (const Rule* rule = find(nodes[left].symbol, nodes[right].symbol)) {
      queue.push({rule->rank, left, right, rule->pair});
    }
  };
  for (size_t i = 0; i < n; ++i) {
    nodes[i] = {byte_ids_[static_cast<unsigned char>(pre_token[i])], i - 1, i + 1};
    if (i > 0) look_up(i - 1, i);
  }
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Node &left = nodes[top.left], &right = nodes[top.right];
    if (left.merged_away || right.merged_away || left.next != top.right ||
        pair_key(left.symbol, right.symbol) != top.pair) {
      continue;
    }
    left.symbol = find(left.symbol, right.symbol)->merged;
    right.merged_away = true;
    left.next = right.next;
    if (left.next < n) {
      nodes[left.next].previous = top.left;
      look_up(top.left, left.next);
    }
    if (top.left > 0) look_up(left.previous, top.left);
  }
  for (size_t i = 0; i < n; i = nodes[i].next) ids.push_back(nodes[i].symbol);
}

void ByteLevelEncoder::encode_pre_token(std::string_view pre_token, const char* limit, Scratch& scratch,
                                        std::vector<uint32_t>& ids) const {
  if (pre_token.size() == 1) {
    ids.push_back(byte_ids_[static_cast<unsigned char>(pre_token[0])]);
    return;
  }
  Scratch::Cached *slot = nullptr, *other = nullptr;
  ShortKey key{{0, 0, 0}};
  if (pre_token.size() <= ShortKey::kMaxLength && !scratch.cache.empty()) {
    key = limit - pre_token.data() >= 24 ? ShortKey::from_readable(pre_token.data(), pre_token.size(), false)
                                         : ShortKey::from_exact(pre_token.data(), pre_token.size(), false);
    // Two slots for each pre-token, the newer first.
    const size_t index = key.hash() & (Scratch::kCache - 1);
    slot = &scratch.cache[index];
    other = &scratch.cache[index ^ 1];
    const Scratch::Cached* hit = slot->key == key ? slot : other->key == key ? other : nullptr;
    if (hit) {
      ids.insert(ids.end(), hit->ids, hit->ids + hit->count);
      return;
    }
  }
  const size_t first = ids.size();
  const auto whole = ids_.empty() ? ids_.end() : ids_.find(pre_token);
  if (whole != ids_.end()) {
    ids.push_back(whole->second);
  } else {
    merge(pre_token, ids);
  }
  const size_t count = ids.size() - first;
  if (slot && count <= Scratch::Cached::kMaxIds) {
    *other = *slot;
    slot->key = key;
    slot->count = static_cast<uint32_t>(count);
    std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(first), count, slot->ids);
  }
}

void ByteLevelEncoder::merge(std::string_view pre_token, std::vector<uint32_t>& ids) const {
  if (pre_token.size() <= kFew) {
    merge_few(pre_token, ids);
  } else {
    merge_many(pre_token, ids);
  }
}

void ByteLevelEncoder::encode_pre_token(std::string_view pre_token, std::vector<uint32_t>& ids) const {
  const auto whole = ids_.find(pre_token);
  if (pre_token.size() > 1 && whole != ids_.end()) {
    ids.push_back(whole->second);
  } else if (!pre_token.empty()) {
    merge(pre_token, ids);
  }
}

void ByteLevelEncoder::encode_text(std::string_view text, Scratch& scratch, std::vector<uint32_t>& ids) const {
  scratch.encoded_bytes += text.size();
  if (scratch.cache.empty() && scratch.encoded_bytes >= kWorthCache) scratch.cache = {Scratch::kCache, {}};
  const char* const limit = text.data() + text.size();
  if (!pre_tokenizer_) {
    if (!text.empty()) encode_pre_token(text, limit, scratch, ids);
    return;
  }
  pre_tokenizer_->for_each(text, [&](std::string_view pre_token) { encode_pre_token(pre_token, limit, scratch, ids); });
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
    std::unique_ptr<Scratch> scratch;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        scratch = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (!scratch) scratch = std::make_unique<Scratch>();
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
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(scratch));
  });
  return batches;
}

}  // namespace piecework
