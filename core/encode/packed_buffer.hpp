// Ids of 2 or 4 bytes that are appended one after the other, on huge pages if they are many.
#pragma once

#include <algorithm>
#include <cstddef>

#include "system/growing_array.hpp"

namespace piecework {

class PackedBuffer {
 public:
  // Where the next ids go; there is room for `count` of them. `end_at` says how many were written.
  template <class Id>
  Id* room(size_t count) {
    const size_t wanted = bytes_.size() + count * sizeof(Id);
    if (wanted > bytes_.capacity()) bytes_.reserve(std::max(wanted, bytes_.capacity() + bytes_.capacity() / 2));
    return reinterpret_cast<Id*>(bytes_.end());
  }
  template <class Id>
  void end_at(const Id* end) {
    bytes_.resize(static_cast<size_t>(reinterpret_cast<const char*>(end) - bytes_.begin()));
  }

  const char* data() const { return bytes_.begin(); }
  size_t size() const { return bytes_.size(); }
  void reserve(size_t capacity) { bytes_.reserve(capacity); }

 private:
  GrowingArray<char> bytes_;
};

}  // namespace piecework
