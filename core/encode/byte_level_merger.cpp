#include "encode/byte_level_merger.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <queue>

#include "model/model.hpp"

namespace piecework {
namespace {

constexpr size_t kFew = 64;  // bytes; up to this length a scan for the best pair is faster than a queue

}  // namespace

ByteLevelMerger::ByteLevelMerger(const ByteLevelModel& model)
    : size_(model.tokens.size()), byte_ranks_(256 * 256, kNoRank) {
  // With this limit, a rule fits in 64 bits.
  const size_t size = std::max(model.tokens.size(), model.merges ? model.merges->size() : 0);
  if (size >= 1 << kBits) throw ModelError("more than 2 million tokens or merges");
  std::array<bool, 256> has_byte{};
  for (uint32_t id = 0; id < model.tokens.size(); ++id) {
    const std::string& token = model.tokens[id];
    if (token.size() == 1) {
      const auto byte = static_cast<unsigned char>(token[0]);
      byte_ids_[byte] = id;
      has_byte[byte] = true;
    }
    if ((model.whole_pre_tokens || !model.merges) && !token.empty()) {
      const auto [entry, is_new] = ids_.emplace(token, id);
      if (!is_new) {
        throw ModelError("the vocabulary has the same token twice: ids " + std::to_string(entry->second) + " and " +
                         std::to_string(id));
      }
    }
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!has_byte[byte]) throw ModelError("the vocabulary has no token for the byte " + std::to_string(byte));
  }
  put_rules(model.merges ? rules_of_merges(model) : rules_of_splits(model));
  if (!model.whole_pre_tokens) ids_.clear();
}

std::vector<uint64_t> ByteLevelMerger::rules_of_merges(const ByteLevelModel& model) {
  std::vector<uint64_t> rules;
  const size_t size = model.tokens.size();
  for (const auto& [left, right, merged] : *model.merges) {
    const size_t rank = merged_.size();
    if (left >= size || right >= size || merged >= size ||
        model.tokens[left] + model.tokens[right] != model.tokens[merged]) {
      throw ModelError("merge " + std::to_string(rank) + " does not spell the token that it makes");
    }
    rules.push_back(rule_of(left, right, rank));
    merged_.push_back(merged);
  }
  return rules;
}

std::vector<uint64_t> ByteLevelMerger::rules_of_splits(const ByteLevelModel& model) const {
  std::vector<uint64_t> rules;
  for (uint32_t id = 0; id < model.tokens.size(); ++id) {
    const std::string_view token = model.tokens[id];
    for (size_t middle = 1; middle < token.size(); ++middle) {
      const auto left = ids_.find(token.substr(0, middle));
      if (left == ids_.end()) continue;
      const auto right = ids_.find(token.substr(middle));
      if (right != ids_.end()) rules.push_back(rule_of(left->second, right->second, id));
    }
  }
  return rules;
}

void ByteLevelMerger::put_rules(const std::vector<uint64_t>& rules) {
  rules_ = {std::bit_ceil(rules.size() * 2 + 2), kNoRule};
  mask_ = rules_.size() - 1;
  filter_.assign(std::bit_ceil(rules.size() / 4 + 1), 0);  // 16 bits for a rule
  filter_mask_ = filter_.size() - 1;
  for (const uint64_t rule : rules) {
    const uint64_t hash = hash_pair(rule >> 2 * kBits, rule >> kBits & ((1 << kBits) - 1));
    size_t at = hash & mask_;
    while (rules_[at] != kNoRule && rules_[at] >> kBits != rule >> kBits) at = (at + 1) & mask_;
    rules_[at] = rule;  // if a merge is listed twice, the later one counts, as in tokenizers
    filter_[hash >> 40 & filter_mask_] |= uint64_t{1} << (hash >> 58);
  }
  for (size_t left = 0; left < 256; ++left) {
    for (size_t right = 0; right < 256; ++right) {
      byte_ranks_[left << 8 | right] = rank(byte_ids_[left], byte_ids_[right]);
    }
  }
}

std::optional<uint32_t> ByteLevelMerger::whole_pre_token(std::string_view pre_token) const {
  if (ids_.empty()) return std::nullopt;
  const auto whole = ids_.find(pre_token);
  return whole == ids_.end() ? std::nullopt : std::optional(whole->second);
}

uint32_t* ByteLevelMerger::encode(std::string_view pre_token, uint32_t* out) const {
  if (const auto whole = whole_pre_token(pre_token)) {
    *out = *whole;
    return out + 1;
  }
  return merge(pre_token, out);
}

uint32_t* ByteLevelMerger::merge(std::string_view pre_token, uint32_t* out) const {
  return pre_token.size() <= kFew ? merge_few(pre_token, out) : merge_many(pre_token, out);
}

// ranks[i] is the rank of merging the symbols i and i + 1. The symbols are in `out` and stay side by side.
uint32_t* ByteLevelMerger::merge_few(std::string_view pre_token, uint32_t* out) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(pre_token.data());
  size_t n = pre_token.size();
  uint32_t ranks[kFew];
  for (size_t i = 0; i + 1 < n; ++i) {
    out[i] = byte_ids_[bytes[i]];
    ranks[i] = byte_ranks_[static_cast<size_t>(bytes[i]) << 8 | bytes[i + 1]];
  }
  out[n - 1] = byte_ids_[bytes[n - 1]];
  while (n > 1) {
    uint32_t best = kNoRank;
    size_t at = 0;
    for (size_t i = 0; i + 1 < n; ++i) {
      const bool better = ranks[i] < best;  // the leftmost of equal ranks
      at = better ? i : at;
      best = better ? ranks[i] : best;
    }
    if (best == kNoRank) break;
    out[at] = merged(best);
    --n;
    for (size_t i = at + 1; i < n; ++i) {
      out[i] = out[i + 1];
      ranks[i - 1] = ranks[i];
    }
    if (at + 1 < n) ranks[at] = rank(out[at], out[at + 1]);
    if (at > 0) ranks[at - 1] = rank(out[at - 1], out[at]);
  }
  return out + n;
}

uint32_t* ByteLevelMerger::merge_many(std::string_view pre_token, uint32_t* out) const {
  struct Node {
    uint32_t symbol;
    bool merged_away = false;
    size_t previous, next;
  };
  struct Candidate {
    uint32_t rank;
    size_t left, right;
    uint32_t left_symbol, right_symbol;
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
  };
  const size_t n = pre_token.size();
  std::vector<Node> nodes(n);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto look_up = [&](size_t left, size_t right) {
    const uint32_t found = rank(nodes[left].symbol, nodes[right].symbol);
    if (found != kNoRank) queue.push({found, left, right, nodes[left].symbol, nodes[right].symbol});
  };
  for (size_t i = 0; i < n; ++i) {
    nodes[i] = {byte_ids_[static_cast<unsigned char>(pre_token[i])], false, i - 1, i + 1};
    if (i > 0) look_up(i - 1, i);
  }
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Node &left = nodes[top.left], &right = nodes[top.right];
    if (left.merged_away || right.merged_away || left.next != top.right || left.symbol != top.left_symbol ||
        right.symbol != top.right_symbol) {
      continue;
    }
    left.symbol = merged(top.rank);
    right.merged_away = true;
    left.next = right.next;
    if (left.next < n) {
      nodes[left.next].previous = top.left;
      look_up(top.left, left.next);
    }
    if (top.left > 0) look_up(left.previous, top.left);
  }
  for (size_t i = 0; i < n; i = nodes[i].next) *out++ = nodes[i].symbol;
  return out;
}

}  // namespace piecework
