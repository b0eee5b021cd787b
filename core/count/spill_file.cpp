#include "count/spill_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "count/word_table.hpp"
#include "text/bytes.hpp"
#include "text/sort_by_text.hpp"

namespace piecework {
namespace {

constexpr size_t kBufferBytes = 1 << 16;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

File open_file(const std::string& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode));
  if (!file) fail(path);
  std::setvbuf(file.get(), nullptr, _IONBF, 0);  // reader and writer have their own buffers
  return file;
}

}  // namespace

SpillWriter::SpillWriter(const std::string& path) : file_(open_file(path, "wb")), buffer_(kBufferBytes) {}

void SpillWriter::add(std::string_view head, std::string_view tail, uint64_t count) {
  const std::string_view previous = key_;
  size_t shared = shared_bytes(previous, head);
  if (shared < head.size()) {
    key_.resize(shared);
    key_ += head.substr(shared);
    key_ += tail;
  } else {
    const size_t shared_tail = shared_bytes(previous.substr(shared), tail);
    shared += shared_tail;
    key_.resize(shared);
    key_ += tail.substr(shared_tail);
  }
  const size_t rest = key_.size() - shared;
  const size_t row_limit = rest + 3 * kMaxVarintBytes;
  if (row_limit > buffer_.size() - used_) flush();
  if (row_limit > buffer_.size()) buffer_.resize(row_limit);
  char* at = buffer_.data() + used_;
  at = write_varint(write_varint(at, shared), rest);
  std::memcpy(at, key_.data() + shared, rest);
  at = write_varint(at + rest, count);
  used_ = static_cast<size_t>(at - buffer_.data());
  ++rows_;
}

void SpillWriter::flush() {
  if (std::fwrite(buffer_.data(), 1, used_, file_.get()) != used_) fail("write");
  used_ = 0;
}

void SpillWriter::finish() {
  flush();
  if (std::fclose(file_.release()) != 0) fail("close");
}

SpillReader::SpillReader(const std::string& path) : path_(path), file_(open_file(path, "rb")), buffer_(kBufferBytes) {}

bool SpillReader::next() {
  if (at_ == end_ && !fill()) return false;
  const uint64_t shared = read_varint();
  uint64_t rest = read_varint();
  if (shared > key_.size()) throw DamagedSpill(path_ + " is damaged");
  const int replaced = shared < key_.size() ? static_cast<unsigned char>(key_[shared]) : -1;
  key_.resize(shared);
  while (rest) {
    if (at_ == end_ && !fill()) throw DamagedSpill(path_ + " is truncated");
    const size_t available = std::min<uint64_t>(rest, static_cast<size_t>(end_ - at_));
    key_.append(at_, available);
    at_ += available;
    rest -= available;
  }
  // Keys must be in order: otherwise merging would give wrong sums.
  const bool is_greater = key_.size() > shared && static_cast<unsigned char>(key_[shared]) > replaced;
  if (!is_greater && !is_first_) throw DamagedSpill(path_ + " is damaged: its keys are not in order");
  is_first_ = false;
  count_ = read_varint();
  if (shared < sizeof prefix_) prefix_ = leading_bytes(key_);
  return true;
}

bool SpillReader::fill() {
  const size_t size = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
  if (size == 0 && std::ferror(file_.get())) fail(path_);
  at_ = buffer_.data();
  end_ = at_ + size;
  return size > 0;
}

uint64_t SpillReader::read_long_varint() {
  uint64_t value = 0;
  for (size_t i = 0; i < kMaxVarintBytes; ++i) {
    if (at_ == end_ && !fill()) throw DamagedSpill(path_ + " is truncated");
    const auto byte = static_cast<unsigned char>(*at_++);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) return value;
  }
  throw DamagedSpill(path_ + " is damaged");
}

namespace {

// The order for the standard heap algorithms, which put the largest first.
bool greater(const std::unique_ptr<SpillReader>& a, const std::unique_ptr<SpillReader>& b) { return *b < *a; }

}  // namespace

SpillMerger::SpillMerger(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    auto reader = std::make_unique<SpillReader>(path);
    if (reader->next()) heap_.push_back(std::move(reader));
  }
  std::make_heap(heap_.begin(), heap_.end(), greater);
}

bool SpillMerger::next() {
  if (borrowed_) advance();
  borrowed_ = heap_.size() == 1;
  if (heap_.empty()) return false;
  count_ = heap_.front()->count();
  if (borrowed_) return true;
  key_ = heap_.front()->key();
  advance();
  while (!heap_.empty() && heap_.front()->key() == key_) {
    count_ = add_counts(count_, heap_.front()->count());
    advance();
  }
  return true;
}

void SpillMerger::advance() {
  if (!heap_.front()->next()) {
    std::pop_heap(heap_.begin(), heap_.end(), greater);
    heap_.pop_back();
    return;
  }
  for (size_t at = 0;;) {
    size_t least = at;
    for (const size_t child : {2 * at + 1, 2 * at + 2}) {
      if (child < heap_.size() && *heap_[child] < *heap_[least]) least = child;
    }
    if (least == at) return;
    heap_[at].swap(heap_[least]);
    at = least;
  }
}

size_t merge_spill_files(const std::vector<std::string>& paths, const std::string& path) {
  SpillMerger merger(paths);
  SpillWriter writer(path);
  while (merger.next()) writer.add(merger.key(), {}, merger.count());
  writer.finish();
  return writer.rows();
}

}  // namespace piecework
