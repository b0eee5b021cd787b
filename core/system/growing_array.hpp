// A growing array of plain values. It grows in place where the system can move pages: a vector would hold the old and
// the new memory at once, and copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace piecework {

// New values are not initialised: the caller writes them. Large arrays are on huge pages: there are fewer page faults,
// and fewer page table walks if access is random.
template <class T>
class GrowingArray {
 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept { swap(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    GrowingArray taken(std::move(other));
    swap(taken);
    return *this;
  }
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;
  ~GrowingArray() { reallocate(0); }

  T& operator[](size_t index) { return data_[index]; }
  const T& operator[](size_t index) const { return data_[index]; }
  size_t size() const { return size_; }
  size_t capacity() const { return bytes_ / sizeof(T); }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  void resize(size_t size) {
    if (size * sizeof(T) > bytes_) reallocate((size + size / 8) * sizeof(T));
    size_ = size;
  }
  // Makes the array longer. The new values are zero: new pages of the system are zero already.
  void extend_with_zeros(size_t size) {
    const size_t before = size_, owned = bytes_;
    reserve(size);
    size_ = size;
    const bool is_new = bytes_ != owned && is_large(bytes_);
    const size_t written = !is_new ? size * sizeof(T) : is_large(owned) ? owned : before * sizeof(T);
    if (written > before * sizeof(T)) std::memset(data_ + before, 0, written - before * sizeof(T));
  }
  // Makes room for `size` values.
  void reserve(size_t size) {
    if (size * sizeof(T) > bytes_) reallocate(size * sizeof(T));
  }
  void push_back(T value) {
    resize(size_ + 1);
    data_[size_ - 1] = value;
  }
  void shrink_to_fit() { reallocate(size_ * sizeof(T)); }
  void clear() {
    reallocate(0);
    size_ = 0;
  }

 private:
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr size_t kHugePage = size_t{1} << 21;

  void swap(GrowingArray& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(bytes_, other.bytes_);
  }

#if defined(__linux__)
  // Rounds large sizes up to whole huge pages.
  static size_t rounded(size_t bytes) {
    return bytes < 2 * kHugePage ? bytes : (bytes + kHugePage - 1) / kHugePage * kHugePage;
  }
  static bool is_large(size_t bytes) { return bytes >= 2 * kHugePage; }
  static void* map(size_t bytes) {
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return data == MAP_FAILED ? nullptr : data;
  }
  static void* move(void* data, size_t from, size_t to) {
    void* const moved = mremap(data, from, to, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? nullptr : moved;
  }
  static void ask_for_huge_pages(void* data, size_t bytes) { madvise(data, bytes, MADV_HUGEPAGE); }  // a hint
  static void unmap(void* data, size_t bytes) { munmap(data, bytes); }
#else
  static size_t rounded(size_t bytes) { return bytes; }
  static bool is_large(size_t) { return false; }
  static void* map(size_t) { return nullptr; }
  static void* move(void*, size_t, size_t) { return nullptr; }
  static void ask_for_huge_pages(void*, size_t) {}
  static void unmap(void*, size_t) {}
#endif

  void reallocate(size_t wanted) {
    const size_t bytes = rounded(wanted);
    if (bytes == bytes_) return;
    void* data = nullptr;
    if (is_large(bytes) && is_large(bytes_)) {
      data = move(data_, bytes_, bytes);
    } else if (is_large(bytes) || is_large(bytes_)) {
      if (bytes) data = is_large(bytes) ? map(bytes) : std::malloc(bytes);
      if (data && data_) std::memcpy(data, data_, std::min(bytes, size_ * sizeof(T)));
      if (data || !bytes) release();
    } else if (bytes) {
      data = std::realloc(data_, bytes);
    } else {
      release();
    }
    if (!data && bytes) throw std::bad_alloc();
    if (is_large(bytes)) ask_for_huge_pages(data, bytes);
    data_ = static_cast<T*>(data);
    bytes_ = bytes;
  }
  void release() {
    if (is_large(bytes_)) {
      unmap(data_, bytes_);
    } else {
      std::free(data_);
    }
  }

  T* data_ = nullptr;
  size_t size_ = 0, bytes_ = 0;
};

}  // namespace piecework
