#include "document_counter.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runs.hpp"
#include "sort_by_text.hpp"
#include "utf8.hpp"

namespace piecework {
namespace {

constexpr std::array<bool, 256> kPunctuation = [] {
  std::array<bool, 256> is{};
  for (const char c : std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")) is[static_cast<unsigned char>(c)] = true;
  return is;
}();

}  // namespace

void DocumentCounter::add_training(const std::vector<std::string_view>& documents, bool known_valid, uint64_t copies) {
  for (const std::string_view document : documents) {
    count_document(document, known_valid, 0, training_, statistics_, copies);
  }
}

void DocumentCounter::add_evaluation(const std::vector<std::string_view>& documents,
                                     const std::vector<uint8_t>& buckets, std::string_view prefix) {
  if (documents.size() != buckets.size()) throw std::invalid_argument("each document needs a bucket");
  for (size_t i = 0; i < documents.size(); ++i) {
    uint64_t replaced = 0;
    // ▁ and a space are the same to a tokenizer.
    std::string text = replace_invalid_utf8(documents[i], replaced);
    for (size_t at = 0; (at = text.find(kSpaceMarkUtf8, at)) != text.npos;)
      text.replace(at, kSpaceMarkUtf8.size(), 1, ' ');
    text_.assign(prefix).append(text);
    count_units(text_, buckets[i], evaluation_);
    text_.assign(prefix);
    for (const char c : text) {
      if (!kPunctuation[static_cast<unsigned char>(c)]) text_ += c;
    }
    count_units(text_, buckets[i], plain_);
  }
  evaluation_.flush();
  plain_.flush();
}

void DocumentCounter::count_units(std::string_view text, uint8_t bucket, WordTable& table) {
  for (size_t at = 0; at < text.size();) {
    const size_t word = text.find_first_not_of(' ', at);
    const size_t end = word == text.npos ? text.size() : std::min(text.find(' ', word), text.size());
    key_.assign(1, static_cast<char>(bucket)).append(text.substr(at, end - at));
    table.queue(key_, at == 0, 1, key_.data() + key_.size());
    at = end;
  }
}

size_t DocumentCounter::memory_bytes() const {
  return training_.memory_bytes() + evaluation_.memory_bytes() + plain_.memory_bytes();
}

WordTable DocumentCounter::take_training() { return std::exchange(training_, {}); }

WordTable DocumentCounter::take_evaluation(bool plain) { return std::exchange(plain ? plain_ : evaluation_, {}); }

size_t DocumentCounter::write_training(const std::string& path) {
  const WordTable table = take_training();
  if (table.size() == 0) return 0;
  RunWriter writer(path);
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
  RunWriter writer(path);
  table.visit_each(sorted_units(table), [&](uint32_t index) {
    const Unit unit = unit_at(table, index);
    const char head[] = {static_cast<char>(unit.bucket), static_cast<char>(unit.opens_document)};
    writer.add({head, sizeof head}, unit.bytes, unit.count);
  });
  writer.finish();
  return writer.rows();
}

Unit DocumentCounter::unit_of_key(std::string_view key, uint64_t count) {
  if (key.size() < 2) throw DamagedRun("a key without a bucket");
  return {static_cast<uint8_t>(key[0]), key[1] != 0, key.substr(2), count};
}

Unit DocumentCounter::unit_at(const WordTable& table, size_t index) {
  const Word word = table.at(index);
  return {static_cast<uint8_t>(word.bytes[0]), word.opens_line, word.bytes.substr(1), word.count};
}

std::vector<uint32_t> DocumentCounter::sorted_units(const WordTable& table) {
  std::array<std::vector<uint32_t>, 512> groups;  // by bucket and flag
  for (uint32_t i = 0; i < table.size(); ++i) {
    const Unit unit = unit_at(table, i);
    groups[unit.bucket * 2u + unit.opens_document].push_back(i);
  }
  std::vector<uint32_t> order;
  for (std::vector<uint32_t>& group : groups) {
    sort_by_text(group, [&](uint32_t i) { return unit_at(table, i).bytes; });
    order.insert(order.end(), group.begin(), group.end());
  }
  return order;
}

}  // namespace piecework
