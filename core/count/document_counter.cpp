#include "count/document_counter.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "count/spill_file.hpp"
#include "system/growing_array.hpp"
#include "text/sort_by_text.hpp"
#include "text/utf8.hpp"

namespace piecework {

DocumentCounter::DocumentCounter(const PreTokenizer& pre_tokenizer)
    : pre_tokenizer_(pre_tokenizer),
      pre_token_units_([pre_tokenizer](std::string_view text, std::vector<size_t>& ends) {
        pre_tokenizer.for_each_block(
            text, [&](size_t, const size_t* found, size_t count) { ends.insert(ends.end(), found, found + count); });
      }) {}

void DocumentCounter::add_training(const std::vector<std::string_view>& documents, bool known_valid, uint64_t copies) {
  for (const std::string_view document : documents) add_training_document(document, known_valid, copies);
}

void DocumentCounter::add_training_document(std::string_view document, bool known_valid, uint64_t copies) {
  if (pre_tokenizer_) {
    pre_tokens_.add(*pre_tokenizer_, document, known_valid, statistics_.invalid_bytes, copies);
  } else if (cut_) {
    add_cut_document(document, known_valid, copies);
  } else {
    count_document(document, known_valid, settings_, training_, statistics_, copies);
  }
}

void DocumentCounter::add_cut_document(std::string_view document, bool known_valid, uint64_t copies) {
  std::string repaired;
  if (!known_valid && find_invalid_utf8(document) != document.size()) {
    repaired = replace_invalid_utf8(document, statistics_.invalid_bytes);
    document = repaired;
  }
  ends_.clear();
  cut_(document, ends_);
  const char* const last = document.data() + document.size();
  size_t begin = 0;
  for (const size_t end : ends_) {
    training_.add(document.substr(begin, end - begin), true, copies, last);
    begin = end;
  }
  training_.flush_long();
}

void DocumentCounter::add_evaluation(const std::vector<std::string_view>& documents,
                                     const std::vector<uint8_t>& buckets, std::string_view prefix) {
  if (documents.size() != buckets.size()) throw std::invalid_argument("each document needs a bucket");
  for (size_t i = 0; i < documents.size(); ++i) {
    if (buckets[i] >= kBuckets) throw std::invalid_argument("a bucket is not 0 to 31");
    add_evaluation_document(documents[i], buckets[i], prefix);
  }
}

void DocumentCounter::add_evaluation_document(std::string_view document, uint8_t bucket, std::string_view prefix) {
  if (pre_token_units_) {
    pre_token_units_->add(document, bucket);
  } else {
    units_.add(document, bucket, prefix);
  }
}

PlacedBatch DocumentCounter::add_placed(const std::vector<std::string_view>& documents, bool known_valid,
                                        const Placer& placer, std::string_view prefix, const BestPassage& best,
                                        uint64_t long_enough) {
  PlacedBatch batch;
  std::string prefixed;
  const std::vector<Placement> placements = placer.place(documents);
  for (size_t i = 0; i < documents.size(); ++i) {
    const std::string_view document = documents[i];
    const Placement placement = placements[i];
    const uint64_t characters = count_characters(document);
    if (best.may_be_beaten_by(placement, characters, long_enough)) batch.passages.push_back(static_cast<uint32_t>(i));
    PlacedSide& side = placement.evaluation ? batch.eval : placement.copies ? batch.train : batch.unused;
    ++side.documents;
    side.characters += characters;
    side.bytes += document.size();
    if (placement.evaluation) {
      add_evaluation_document(document, placement.bucket, prefix);
    } else if (placement.copies) {
      batch.train_copies = add_counts(batch.train_copies, placement.copies);
      if (prefix.empty() || pre_token_units_) {
        add_training_document(document, known_valid, placement.copies);
      } else {
        prefixed.assign(prefix).append(document);
        add_training_document(prefixed, known_valid, placement.copies);
      }
    }
  }
  return batch;
}

size_t DocumentCounter::memory_bytes() const {
  const size_t units = pre_token_units_ ? pre_token_units_->memory_bytes() : units_.memory_bytes();
  return training_.memory_bytes() + pre_tokens_.memory_bytes() + units;
}

WordTable DocumentCounter::take_training() { return pre_tokenizer_ ? pre_tokens_.take() : training_.take(); }

WordTable DocumentCounter::take_evaluation(bool plain) {
  return pre_token_units_ ? pre_token_units_->take(plain) : units_.take(plain);
}

size_t DocumentCounter::write_training(const std::string& path) {
  const WordTable table = take_training();
  if (table.size() == 0) return 0;
  SpillWriter writer(path);
  table.visit_each(table.sorted(), [&](uint32_t index) {
    const Word word = table.at(index);
    writer.add(word.opens_line ? "" : kSpaceMarkUtf8, word.bytes, word.count);
  });
  writer.finish();
  return writer.rows();
}

size_t DocumentCounter::write_evaluation(bool plain, const std::string& path) {
  const WordTable table = take_evaluation(plain);
  if (table.size() == 0) return 0;
  SpillWriter writer(path);
  table.visit_each(sorted_units(table), [&](uint32_t index) {
    const CountedUnit unit = unit_at(table, index);
    const char head[] = {static_cast<char>(unit.bucket), static_cast<char>(unit.context)};
    writer.add({head, sizeof head}, unit.bytes, unit.count);
  });
  writer.finish();
  return writer.rows();
}

CountedUnit DocumentCounter::unit_from_key(std::string_view key, uint64_t count) {
  if (key.size() < 2) throw DamagedSpill("a key without a bucket");
  return {static_cast<uint8_t>(key[0]), static_cast<uint8_t>(key[1]), key.substr(2), count};
}

std::vector<uint32_t> DocumentCounter::sorted_units(const WordTable& table) {
  const auto group_of = [](const CountedUnit& unit) { return unit.bucket * (UnitContext::kAll + 1u) + unit.context; };
  std::array<size_t, 513> starts{};
  for (size_t i = 0; i < table.size(); ++i) ++starts[group_of(unit_at(table, i)) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  GrowingArray<TextIndex> keyed, other;
  keyed.resize(table.size());
  other.reserve(table.size());
  auto next = starts;
  for (uint32_t i = 0; i < table.size(); ++i) {
    const CountedUnit unit = unit_at(table, i);
    keyed[next[group_of(unit)]++] = {i, unit.bytes};
  }
  for (size_t group = 0; group + 1 < starts.size(); ++group) {
    const std::span same_group(keyed.begin() + static_cast<ptrdiff_t>(starts[group]),
                               starts[group + 1] - starts[group]);
    sort_by_text(same_group, other.begin(), [&](uint32_t i) { return unit_at(table, i).bytes; });
  }
  std::vector<uint32_t> order(keyed.size());
  std::transform(keyed.begin(), keyed.end(), order.begin(), [](const TextIndex& unit) { return unit.index; });
  return order;
}

}  // namespace piecework
