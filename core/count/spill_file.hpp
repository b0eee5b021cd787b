// Spill files: sorted files of keys with their counts. Several of them merge into one sequence in little memory.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace piecework {

// The file is truncated, or it is no spill file.
struct DamagedSpill : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// A row has four parts: the number of leading bytes that its key shares with the previous key, the number of bytes that
// follow, these bytes, and the count. Numbers are varints (text/bytes.hpp). Example: after the key "▁en" (5 bytes), the
// row "▁ett" with count 3 is the bytes 4, 2, 't', 't', 3.
class SpillWriter {
 public:
  explicit SpillWriter(const std::string& path);
  // The key is `head` followed by `tail`. It must be greater than the previous key.
  void add(std::string_view head, std::string_view tail, uint64_t count);
  // Must be called at the end: it writes what is left in the buffer, and reports a full disk.
  void finish();
  size_t rows() const { return rows_; }

 private:
  void flush();

  File file_;
  std::string key_;
  std::vector<char> buffer_;
  size_t used_ = 0;  // bytes of the buffer
  size_t rows_ = 0;
};

class SpillReader {
 public:
  explicit SpillReader(const std::string& path);
  // Moves to the next row; false at the end.
  bool next();
  const std::string& key() const { return key_; }
  uint64_t count() const { return count_; }
  bool operator<(const SpillReader& other) const {
    return prefix_ != other.prefix_ ? prefix_ < other.prefix_ : key_ < other.key_;
  }

 private:
  bool fill();
  uint64_t read_varint() {
    // Most numbers are below 128.
    const auto byte = at_ == end_ ? 0x80u : static_cast<unsigned char>(*at_);
    return byte < 0x80 ? (++at_, byte) : read_long_varint();
  }
  uint64_t read_long_varint();

  std::string path_;
  File file_;
  std::vector<char> buffer_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::string key_;
  uint64_t prefix_ = 0;  // the key's first eight bytes: enough for most comparisons
  uint64_t count_ = 0;
  bool is_first_ = true;  // no row has been read
};

class SpillMerger {
 public:
  explicit SpillMerger(const std::vector<std::string>& paths);
  SpillMerger(const SpillMerger&) = delete;
  SpillMerger& operator=(const SpillMerger&) = delete;

  // Moves to the next key; false at the end. Throws CountOverflow if a sum does not fit in 64 bits.
  bool next();
  std::string_view key() const { return borrowed_ ? heap_.front()->key() : key_; }
  uint64_t count() const { return count_; }

 private:
  // Moves the first reader to its next row, and restores the order of the heap.
  void advance();

  std::vector<std::unique_ptr<SpillReader>> heap_;  // the reader with the smallest key first
  std::string key_;
  bool borrowed_ = false;  // one reader is left: its key is used without a copy, and it moves on in the next call
  uint64_t count_ = 0;
};

// Merges spill files into one; returns its number of rows.
size_t merge_spill_files(const std::vector<std::string>& paths, const std::string& path);

}  // namespace piecework
