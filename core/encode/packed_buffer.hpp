// Ids of 2 or 4 bytes that are appended one after the other. New memory is not set to zero first.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace piecework {

class PackedBuffer {
 public:
  // Where the next ids go; there is room for `count` of them. `end_at` says how many were written.
  template <class Id>
  Id* room(size_t count) {
    const size_t wanted = size_ + count * sizeof(Id);
    if (wanted > capacity_) reserve(std::max(wanted, capacity_ + capacity_ / 2));
    return reinterpret_cast<Id*>(data_.get() + size_);
  }
  template <class Id>
  void end_at(const Id* end) {
    size_ = static_cast<size_t>(reinterpret_cast<const char*>(end) - data_.get());
  }

  const char* data() const { return data_.get(); }
  size_t size() const { return size_; }
  void reserve(size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }

 private:
  void grow(size_t capacity) {
    void* grown = std::realloc(data_.get(), capacity);
    if (!grown) throw std::bad_alloc();
    (void)data_.release();
    data_.reset(static_cast<char*>(grown));
    capacity_ = capacity;
  }

  struct Free {
    void operator()(char* data) const { std::free(data); }
  };
  std::unique_ptr<char, Free> data_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace piecework
