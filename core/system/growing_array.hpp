// A growing array of plain values. It grows in place where the system can move pages: a vector would hold the old and
// the new memory at once, and copy.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace piecework {

// New values are not set: whoever makes the array longer writes them.
template <class T>
class GrowingArray {
 public:
  T& operator[](size_t index) { return data_.get()[index]; }
  const T& operator[](size_t index) const { return data_.get()[index]; }
  size_t size() const { return size_; }

  void resize(size_t size) {
    if (size > capacity_) reallocate(size + size / 8);
    size_ = size;
  }
  void shrink_to_fit() { reallocate(size_); }
  void clear() {
    data_.reset();
    size_ = capacity_ = 0;
  }

 private:
  static_assert(std::is_trivially_copyable_v<T>);
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  void reallocate(size_t capacity) {
    if (capacity == 0) return clear();
    void* const data = std::realloc(data_.get(), capacity * sizeof(T));
    if (!data) throw std::bad_alloc();
    static_cast<void>(data_.release());
    data_.reset(static_cast<T*>(data));
    capacity_ = capacity;
  }

  std::unique_ptr<T, Free> data_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace piecework
