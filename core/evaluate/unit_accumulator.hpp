// What the evaluators of both kinds of tokenizers share: adds the totals of units up by group, bucket and size.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "evaluate/evaluator.hpp"
#include "system/threads.hpp"

namespace piecework {

// The table, group and block of each group of the core.
class Layout {
 public:
  Layout(size_t groups, const std::vector<uint32_t>& blocks)
      : tables_(blocks.size()), most_blocks_(*std::max_element(blocks.begin(), blocks.end())) {
    const size_t blocks_per_group = std::accumulate(blocks.begin(), blocks.end(), size_t{0});
    if (groups % blocks_per_group)
      throw std::invalid_argument("the groups are not a multiple of the blocks of all tables");
    groups_ = groups / blocks_per_group;
    for (size_t table = 0; table < blocks.size(); ++table) {
      for (size_t group = 0; group < groups_; ++group) {
        for (uint32_t block = 0; block < blocks[table]; ++block) positions_.push_back({table, group, block});
      }
    }
  }

  struct Position {
    size_t table, group;
    uint32_t block;
  };
  const Position& operator[](size_t group) const { return positions_[group]; }
  size_t tables() const { return tables_; }
  // The number of groups of each table.
  size_t groups() const { return groups_; }
  // The number of blocks in the table that has most blocks.
  uint32_t blocks() const { return most_blocks_; }
  size_t curves() const { return tables_ * groups_; }
  size_t curve_index(size_t group) const { return positions_[group].table * groups_ + positions_[group].group; }

 private:
  size_t tables_, groups_;
  uint32_t most_blocks_;
  std::vector<Position> positions_;
};

// The totals of the units of one thread. A worker reports the tokens of a unit, and how its totals depend on the size.
class UnitAccumulator {
 public:
  UnitAccumulator(const UnitSet& units, const EvaluationRequest& request, const Layout& layout, size_t pieces)
      : units_(units),
        request_(request),
        layout_(layout),
        frequency_groups_(std::min(units.groups(), request.frequency_groups)) {
    const size_t cells = units.groups() * UnitSet::kBuckets;
    result.totals.resize(cells);
    result.frequencies = FrequencyTable(frequency_groups_, pieces);
    if (has_sizes()) {
      result.sizes.resize(cells * request.sizes.size());
      result.curve.resize(layout.curves() * (request.merges.size() + 1));
    }
    if (layout.blocks() > 1) {
      result.types.resize(layout.tables() * (layout.groups() + 1) * (layout.blocks() + 1));
      result.single_types.resize(result.types.size() * (1 + request.sizes.size()));
    }
  }

  Evaluation result;

 protected:
  struct Change {
    uint32_t from;  // number of merges
    SizeTotals totals;
  };

  bool has_sizes() const { return !request_.merges.empty(); }

  // Adds the current unit to the totals of its rows. `by_group(group, count)` and `by_curve(curve, count)` are called
  // once for each group and curve, because the memory that they access is far apart.
  template <class ByGroup, class ByCurve>
  void add_rows(std::span<const UnitSet::Row> rows, const TokenTotals& totals, ByGroup&& by_group, ByCurve&& by_curve) {
    const UnitSet::Row *const first = rows.data(), *const last = first + rows.size();
    uint64_t in_group = 0, in_curve = 0;
    for (const UnitSet::Row* row = first; row < last; ++row) {
      const size_t group = row->group, cell = group * UnitSet::kBuckets + row->bucket;
      const uint64_t count = units_.count(*row);
      TokenTotals& sum = result.totals[cell];
      sum.tokens += totals.tokens * count;
      sum.starts += totals.starts * count;
      sum.continued += totals.continued * count;
      sum.split_words += totals.split_words * count;
      sum.unknown += totals.unknown * count;
      sum.byte_tokens += totals.byte_tokens * count;
      sum.partial += totals.partial * count;
      if (has_sizes()) add_to_sizes(cell, static_cast<int64_t>(count));
      in_group += count;
      if (row + 1 < last && row[1].group == row->group) continue;
      if (group < frequency_groups_) by_group(group, in_group);
      in_curve += in_group;
      in_group = 0;
      if (row + 1 < last && layout_.curve_index(row[1].group) == layout_.curve_index(group)) continue;
      if (has_sizes()) by_curve(layout_.curve_index(group), static_cast<int64_t>(in_curve));
      in_curve = 0;
    }
  }

  void change(uint32_t from, const SizeTotals& totals) {
    if (from == 0) {
      base_ += totals;
    } else {
      changes_.push_back({from, totals});
    }
  }

  static SizeTotals scaled(const SizeTotals& t, int64_t count) {
    return {t.tokens * count, t.starts * count, t.continued * count, t.split_words * count};
  }

  // Adds the totals without any merge, and the changes, to the totals at each size.
  void complete_sizes() {
    for (size_t s = 0; s < at_sizes_.size(); ++s) {
      at_sizes_[s] += base_;
      for (const Change& change : changes_) {
        if (change.from <= request_.sizes[s]) at_sizes_[s] += change.totals;
      }
    }
  }

  SizeTotals* curve(size_t number) { return &result.curve[number * (request_.merges.size() + 1)]; }

  void add_to_curve(size_t number, int64_t count) {
    SizeTotals* const points = curve(number);
    points[0] += scaled(base_, count);
    for (const Change& change : changes_) points[change.from] += scaled(change.totals, count);
  }

  // Counts a distinct word: once in each table and group that has it, and once in all groups of the table together.
  void add_type(const UnitSet::Row* first, const UnitSet::Row* last, bool single, uint32_t single_from) {
    const size_t stride = layout_.blocks() + 1;
    const auto add = [&](size_t table, size_t group, uint32_t from_block, uint32_t to_block) {
      const uint32_t only_in = from_block == to_block ? from_block : layout_.blocks();
      const size_t at = (table * (layout_.groups() + 1) + group) * stride + only_in;
      ++result.types[at];
      if (!single) return;
      ++result.single_types[at];
      for (size_t s = 0; s < request_.sizes.size(); ++s) {
        result.single_types[(1 + s) * result.types.size() + at] += single_from <= request_.sizes[s];
      }
    };
    for (const UnitSet::Row* row = first; row < last;) {
      const size_t table = layout_[row->group].table;
      uint32_t first_block = layout_.blocks(), last_block = 0;
      while (row < last && layout_[row->group].table == table) {
        const size_t group = layout_[row->group].group;
        const uint32_t from_block = layout_[row->group].block;
        uint32_t to_block = from_block;
        for (; row < last && layout_[row->group].table == table && layout_[row->group].group == group; ++row) {
          to_block = layout_[row->group].block;
        }
        add(table, group, from_block, to_block);
        first_block = std::min(first_block, from_block);
        last_block = std::max(last_block, to_block);
      }
      add(table, layout_.groups(), first_block, last_block);
    }
  }

  const UnitSet& units_;
  const EvaluationRequest& request_;
  const Layout& layout_;
  const size_t frequency_groups_;

  // Of the current unit, if sizes are asked for.
  SizeTotals base_;
  std::vector<Change> changes_;
  std::vector<SizeTotals> at_sizes_;  // for each size asked for

 private:
  void add_to_sizes(size_t cell, int64_t count) {
    SizeTotals* const sums = &result.sizes[cell * request_.sizes.size()];
    for (size_t s = 0; s < request_.sizes.size(); ++s) sums[s] += scaled(at_sizes_[s], count);
  }
};

inline void add_up(Evaluation& sum, const Evaluation& part) {
  for (size_t i = 0; i < sum.totals.size(); ++i) {
    sum.totals[i].tokens += part.totals[i].tokens;
    sum.totals[i].starts += part.totals[i].starts;
    sum.totals[i].continued += part.totals[i].continued;
    sum.totals[i].split_words += part.totals[i].split_words;
    sum.totals[i].unknown += part.totals[i].unknown;
    sum.totals[i].byte_tokens += part.totals[i].byte_tokens;
    sum.totals[i].partial += part.totals[i].partial;
  }
  sum.frequencies.add(part.frequencies);
  for (size_t i = 0; i < sum.sizes.size(); ++i) sum.sizes[i] += part.sizes[i];
  for (size_t i = 0; i < sum.curve.size(); ++i) sum.curve[i] += part.curve[i];
  for (size_t i = 0; i < sum.types.size(); ++i) sum.types[i] += part.types[i];
  for (size_t i = 0; i < sum.single_types.size(); ++i) sum.single_types[i] += part.single_types[i];
  sum.detached.insert(sum.detached.end(), part.detached.begin(), part.detached.end());
}

// Evaluates all units on several threads. `make(layout)` makes the worker of a thread, which has `add(number)` for a
// unit, `finish()` and `result`.
template <class Make>
Evaluation evaluate_on_threads(UnitSet& units, const EvaluationRequest& request, Make&& make) {
  if (request.merges.empty() && !request.sizes.empty()) throw std::invalid_argument("sizes need merges");
  units.arrange();
  const Layout layout(units.groups(), request.blocks);
  constexpr size_t kUnits = 1 << 12;
  std::atomic<size_t> next{0};
  const size_t threads = std::clamp<size_t>(units.size() / kUnits, 1, std::max(request.threads, 1U));
  std::vector<decltype(make(layout))> workers;
  for (size_t t = 0; t < threads; ++t) workers.push_back(make(layout));
  run_on_threads(threads, [&](size_t t) {
    for (size_t from; (from = next.fetch_add(kUnits)) < units.size();) {
      const size_t to = std::min(from + kUnits, units.size());
      for (size_t unit = from; unit < to; ++unit) workers[t]->add(unit);
    }
    workers[t]->finish();
  });
  Evaluation result = std::move(workers[0]->result);
  for (size_t t = 1; t < threads; ++t) add_up(result, workers[t]->result);
  workers.clear();
  if (!request.merges.empty()) {
    const size_t points = request.merges.size() + 1;
    for (size_t group = 0; group < layout.curves(); ++group) {
      SizeTotals* const curve = &result.curve[group * points];
      for (size_t k = 1; k < points; ++k) curve[k] += curve[k - 1];
    }
  }
  return result;
}

}  // namespace piecework
