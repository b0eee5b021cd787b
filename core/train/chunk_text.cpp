#include "train/chunk_text.hpp"

#include <cstring>
#include <stdexcept>

#include "text/utf8.hpp"

namespace piecework {
namespace {

// Indices of the chunks by falling count, without those of count 0. Most counts are small: those are sorted with a
// counting sort.
std::vector<uint32_t> by_falling_count(const WordTable& chunks) {
  constexpr uint64_t kSmall = 1 << 12;
  std::vector<uint32_t> starts(kSmall + 1, 0), large;
  for (uint32_t i = 0; i < chunks.size(); ++i) {
    const uint64_t count = chunks.at(i).count;
    if (count < kSmall) {
      ++starts[count];
    } else {
      large.push_back(i);
    }
  }
  std::sort(large.begin(), large.end(),
            [&](uint32_t a, uint32_t b) { return chunks.at(a).count > chunks.at(b).count; });
  uint32_t next = static_cast<uint32_t>(large.size());
  starts[0] = 0;
  for (uint64_t count = kSmall; count-- > 1;) {
    const uint32_t n = starts[count];
    starts[count] = next;
    next += n;
  }
  std::vector<uint32_t> order(std::move(large));
  order.resize(next);
  for (uint32_t i = 0; i < chunks.size(); ++i) {
    const uint64_t count = chunks.at(i).count;
    if (count && count < kSmall) order[starts[count]++] = i;
  }
  return order;
}

}  // namespace

template <class Put>
void ChunkText::fill(const WordTable& chunks, size_t positions, Put&& put) {
  if (positions >= kNoPosition) throw std::length_error("the distinct words have more than 4 billion characters");
  symbols_.resize(positions);
  uint32_t* out = symbols_.begin();
  *out++ = kSeparator;
  uint64_t count = 0;
  chunks.visit_each(by_falling_count(chunks), [&](uint32_t i) {
    const Word chunk = chunks.at(i);
    if (chunk.count != count) {
      count = chunk.count;
      steps_.push_back({static_cast<uint32_t>(out - symbols_.begin()), count});
    }
    out = put(chunk, out);
    *out++ = kSeparator;
  });
  block_counts_.assign(symbols_.size() / kBlock + 1, 0);
  for (size_t step = 0; step < steps_.size(); ++step) {
    const size_t end = step + 1 < steps_.size() ? steps_[step + 1].first : symbols_.size();
    const size_t first_block = (steps_[step].first + kBlock - 1) / kBlock;
    for (size_t block = first_block; (block + 1) * kBlock <= end; ++block) block_counts_[block] = steps_[step].count;
  }
  if (!steps_.empty() && !block_counts_.empty()) {
    // The last block may be partly filled. It has one count if the last step starts before it.
    const size_t last_block = symbols_.size() / kBlock;
    if (steps_.back().first <= last_block * kBlock) block_counts_[last_block] = steps_.back().count;
  }
}

ChunkText::ChunkText(const WordTable& chunks, const Alphabet& alphabet) {
  const uint32_t space_mark = alphabet.index_of(kSpaceMark);
  size_t positions = 1;
  for (size_t i = 0; i < chunks.size(); ++i) {
    const Word chunk = chunks.at(i);
    if (chunk.count == 0) continue;
    positions += 1 + !chunk.opens_line;
    for (const char c : chunk.bytes) positions += !is_continuation(static_cast<unsigned char>(c));
  }
  std::array<uint32_t, 0x80> ascii{};
  for (char32_t code = '!'; code < ascii.size(); ++code) {
    if (alphabet.contains(code)) ascii[code] = alphabet.index_of(code);
  }
  fill(chunks, positions, [&](const Word& chunk, uint32_t* out) {
    if (!chunk.opens_line) *out++ = space_mark;
    for (const char *p = chunk.bytes.data(), *last = p + chunk.bytes.size(); p < last;) {
      if (*p > ' ') {  // other bytes are negative as signed characters
        *out++ = ascii[static_cast<unsigned char>(*p++)];
        continue;
      }
      const Decoded c = decode_utf8(p, last);
      *out++ = c.code == ' ' ? space_mark : alphabet.index_of(c.code);
      p += c.length;
    }
    return out;
  });
}

ChunkText::ChunkText(const WordTable& pre_tokens, const std::array<uint32_t, 256>& byte_symbols) {
  size_t positions = 1;
  uint64_t all = 0;
  for (size_t i = 0; i < pre_tokens.size(); ++i) {
    const Word pre_token = pre_tokens.at(i);
    if (pre_token.count == 0) continue;
    positions += 1 + pre_token.bytes.size();
    // No frequency of a pair can overflow if this sum does not.
    all = add_counts(all, multiply_counts(pre_token.bytes.size(), pre_token.count));
  }
  fill(pre_tokens, positions, [&](const Word& pre_token, uint32_t* out) {
    for (const char c : pre_token.bytes) *out++ = byte_symbols[static_cast<unsigned char>(c)];
    return out;
  });
}

ChunkText::ChunkText(const WordTable& rows, const std::vector<uint32_t>& lengths, size_t index_bytes) {
  const auto for_each_symbol = [&](const Word& row, auto&& use) {
    for (size_t at = 0; at < row.bytes.size(); at += index_bytes) {
      uint32_t symbol = 0;
      std::memcpy(&symbol, row.bytes.data() + at, index_bytes);  // little-endian, as word_table.cpp checks
      use(symbol);
    }
  };
  size_t positions = 1;
  uint64_t all = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows.at(i).count == 0) continue;
    size_t length = 0;
    for_each_symbol(rows.at(i), [&](uint32_t symbol) { length += lengths[symbol]; });
    positions += 1 + length;
    all = add_counts(all, multiply_counts(length, rows.at(i).count));  // then no frequency of a pair can overflow
  }
  fill(rows, positions, [&](const Word& row, uint32_t* out) {
    for_each_symbol(row, [&](uint32_t symbol) {
      const uint32_t length = lengths[symbol];
      *out++ = symbol;
      if (length < 2) return;
      out = std::fill_n(out, length - 2, kInside);
      *out++ = kBack | length;
    });
    return out;
  });
}

}  // namespace piecework
