#include "encode/merge_list.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "text/json.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

// The score, or the lowest number if a damaged model has NaN, which cannot be compared.
float ordered(float score) { return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score; }

// By id: how many different scores are higher.
std::vector<uint32_t> score_ranks(const std::vector<float>& scores) {
  std::vector<uint32_t> order(scores.size()), ranks(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto higher = [&](uint32_t a, uint32_t b) { return ordered(scores[a]) > ordered(scores[b]); };
  // Training leaves pieces in this order.
  if (!std::is_sorted(order.begin(), order.end(), higher)) std::sort(order.begin(), order.end(), higher);
  for (size_t i = 1; i < order.size(); ++i) {
    ranks[order[i]] = ranks[order[i - 1]] + higher(order[i - 1], order[i]);
  }
  return ranks;
}

// Two pieces whose texts together are the text of a third piece.
struct Merge {
  uint32_t left, right, piece;
};

// All merges of normal pieces, in the order of a merge list.
std::vector<Merge> ranked_merges(const Encoder& encoder) {
  const Model& model = encoder.model();
  const auto is_normal = [&](SymbolId id) { return id < model.size() && model.types[id] == PieceType::normal; };
  std::vector<Merge> merges;
  encoder.for_each_merge([&](SymbolId left, SymbolId right, SymbolId piece) {
    if (is_normal(left) && is_normal(right) && is_normal(piece)) merges.push_back({left, right, piece});
  });
  // Few pieces share a score. So merges are grouped by score, and only merges of one group are compared.
  const std::vector<uint32_t> ranks = score_ranks(model.scores);
  std::vector<uint32_t> ends(model.size() + 1, 0);
  for (const Merge& merge : merges) ++ends[ranks[merge.piece] + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<Merge> ranked(merges.size());
  for (const Merge& merge : merges) ranked[ends[ranks[merge.piece]]++] = merge;
  const auto left_characters = [&](const Merge& merge) {
    const std::string& text = model.pieces[merge.left];
    return std::count_if(text.begin(), text.end(),
                         [](char c) { return !is_continuation(static_cast<unsigned char>(c)); });
  };
  for (auto first = ranked.begin(); first != ranked.end();) {
    const auto last = ranked.begin() + ends[ranks[first->piece]];
    std::sort(first, last, [&](const Merge& a, const Merge& b) {
      // Usually both parts are starts of one text: then their bytes tell the longer one, without counting characters.
      if (a.piece == b.piece) return model.pieces[a.left].size() > model.pieces[b.left].size();
      const auto x = left_characters(a), y = left_characters(b);
      return x != y ? x > y : a.piece < b.piece;
    });
    first = last;
  }
  return ranked;
}

}  // namespace

std::string merges_json(const Encoder& encoder) {
  const Model& model = encoder.model();
  std::vector<std::string> texts(model.size());
  for (size_t id = 0; id < model.size(); ++id) append_json_string(texts[id], model.pieces[id]);
  const std::vector<Merge> merges = ranked_merges(encoder);
  size_t size = 2;
  for (const auto& [left, right, piece] : merges) size += texts[left].size() + texts[right].size() + 4;
  std::string out = "[";
  out.reserve(size);
  for (const auto& [left, right, piece] : merges) {
    if (out.size() > 1) out += ',';
    out.append(1, '[').append(texts[left]).append(1, ',').append(texts[right]).append(1, ']');
  }
  return out += ']';
}

}  // namespace piecework
