#include "count/runs.hpp"

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
  std::setvbuf(file.get(), nullptr, _IONBF, 0);  // both sides have buffers of their own
  return file;
}

}  // namespace

RunWriter::RunWriter(const std::string& path) : file_(open_file(path, "wb")), buffer_(kBufferBytes) {}

void RunWriter::add(std::string_view head, std::string_view tail, uint64_t count) {
  const std::string_view before = key_;
  size_t shared = shared_bytes(before, head);
  if (shared < head.size()) {
    key_.resize(shared);
    key_ += head.substr(shared);
    key_ += tail;
  } else {
    const size_t alike = shared_bytes(before.substr(shared), tail);
    shared += alike;
    key_.resize(shared);
    key_ += tail.substr(alike);
  }
  const size_t rest = key_.size() - shared;
  const size_t most = rest + 3 * kMostNumberBytes;
  if (most > buffer_.size() - used_) flush();
  if (most > buffer_.size()) buffer_.resize(most);
  char* at = buffer_.data() + used_;
  at = write_number(write_number(at, shared), rest);
  std::memcpy(at, key_.data() + shared, rest);
  at = write_number(at + rest, count);
  used_ = static_cast<size_t>(at - buffer_.data());
  ++rows_;
}

void RunWriter::flush() {
  if (std::fwrite(buffer_.data(), 1, used_, file_.get()) != used_) fail("write");
  used_ = 0;
}

void RunWriter::finish() {
  flush();
  if (std::fclose(file_.release()) != 0) fail("close");
}

RunReader::RunReader(const std::string& path) : path_(path), file_(open_file(path, "rb")), buffer_(kBufferBytes) {}

bool RunReader::next() {
  if (at_ == end_ && !fill()) return false;
  const uint64_t shared = number();
  uint64_t rest = number();
  if (shared > key_.size()) throw DamagedRun(path_ + " is damaged");
  key_.resize(shared);
  while (rest) {
    if (at_ == end_ && !fill()) throw DamagedRun(path_ + " is truncated");
    const size_t here = std::min<uint64_t>(rest, static_cast<size_t>(end_ - at_));
    key_.append(at_, here);
    at_ += here;
    rest -= here;
  }
  count_ = number();
  if (shared < sizeof prefix_) prefix_ = leading_bytes(key_);
  return true;
}

bool RunReader::fill() {
  const size_t size = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
  if (size == 0 && std::ferror(file_.get())) fail(path_);
  at_ = buffer_.data();
  end_ = at_ + size;
  return size > 0;
}

uint64_t RunReader::long_number() {
  uint64_t value = 0;
  for (size_t i = 0; i < kMostNumberBytes; ++i) {
    if (at_ == end_ && !fill()) throw DamagedRun(path_ + " is truncated");
    const auto byte = static_cast<unsigned char>(*at_++);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) return value;
  }
  throw DamagedRun(path_ + " is damaged");
}

namespace {

// For the algorithms on heaps, which put the largest first.
bool after(const std::unique_ptr<RunReader>& a, const std::unique_ptr<RunReader>& b) { return *b < *a; }

}  // namespace

RunMerger::RunMerger(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    auto run = std::make_unique<RunReader>(path);
    if (run->next()) heap_.push_back(std::move(run));
  }
  std::make_heap(heap_.begin(), heap_.end(), after);
}

bool RunMerger::next() {
  if (lent_) advance();
  lent_ = heap_.size() == 1;
  if (heap_.empty()) return false;
  count_ = heap_.front()->count();
  if (lent_) return true;
  key_ = heap_.front()->key();
  advance();
  while (!heap_.empty() && heap_.front()->key() == key_) {
    count_ = add_counts(count_, heap_.front()->count());
    advance();
  }
  return true;
}

void RunMerger::advance() {
  if (!heap_.front()->next()) {
    std::pop_heap(heap_.begin(), heap_.end(), after);
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

size_t merge_runs(const std::vector<std::string>& paths, const std::string& path) {
  RunMerger merger(paths);
  RunWriter writer(path);
  while (merger.next()) writer.add(merger.key(), {}, merger.count());
  writer.finish();
  return writer.rows();
}

}  // namespace piecework
