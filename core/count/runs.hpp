// Runs: files of keys in order, each with its count; and several of them merged into one sequence, in little memory.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace piecework {

// A file that ends in the middle of a row, or cannot be a run.
struct DamagedRun : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// A row is how many bytes its key shares with the one before, how many follow, these bytes, and the count; numbers
// are as write_number writes them.
class RunWriter {
 public:
  explicit RunWriter(const std::string& path);
  // The key is `head` and `tail`, and comes after that of the call before.
  void add(std::string_view head, std::string_view tail, uint64_t count);
  // To be called at the end: what is left to write may not fit on the disk.
  void finish();
  size_t rows() const { return rows_; }

 private:
  void flush();

  File file_;
  std::string key_;
  std::vector<char> buffer_;
  size_t used_ = 0;  // of the buffer
  size_t rows_ = 0;
};

class RunReader {
 public:
  explicit RunReader(const std::string& path);
  // Goes to the next row; false at the end.
  bool next();
  const std::string& key() const { return key_; }
  uint64_t count() const { return count_; }
  bool operator<(const RunReader& other) const {
    return prefix_ != other.prefix_ ? prefix_ < other.prefix_ : key_ < other.key_;
  }

 private:
  bool fill();
  uint64_t number() {
    // Most are below 128.
    const auto byte = at_ == end_ ? 0x80u : static_cast<unsigned char>(*at_);
    return byte < 0x80 ? (++at_, byte) : long_number();
  }
  uint64_t long_number();

  std::string path_;
  File file_;
  std::vector<char> buffer_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::string key_;
  uint64_t prefix_ = 0;  // the key's first eight bytes, which mostly tell keys of several runs apart
  uint64_t count_ = 0;
};

class RunMerger {
 public:
  explicit RunMerger(const std::vector<std::string>& paths);
  RunMerger(const RunMerger&) = delete;
  RunMerger& operator=(const RunMerger&) = delete;

  // Goes to the next key; false at the end. A sum that does not fit in 64 bits is a CountOverflow.
  bool next();
  std::string_view key() const { return lent_ ? heap_.front()->key() : key_; }
  uint64_t count() const { return count_; }

 private:
  // Moves the first run on, and to its place among the others.
  void advance();

  std::vector<std::unique_ptr<RunReader>> heap_;  // the run with the smallest key first
  std::string key_;
  bool lent_ = false;  // the key is that of the only run left, which has yet to move on
  uint64_t count_ = 0;
};

// Merges runs into one; how many rows it has.
size_t merge_runs(const std::vector<std::string>& paths, const std::string& path);

}  // namespace piecework
