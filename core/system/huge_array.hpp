// Memory for random access. It asks for huge pages, because page table walks slow down random look-ups.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace piecework {

// As much memory as a huge page, not initialised. It is on small pages, which take no memory before they are used,
// until it is asked to be on a huge page.
class HugePage {
 public:
  static constexpr size_t kBytes = size_t{1} << 21;

  HugePage() : data_(std::aligned_alloc(kBytes, kBytes)) {
    if (!data_) throw std::bad_alloc();
  }
  void ask_for_huge_page() const {
#if defined(__linux__)
    madvise(data_.get(), kBytes, MADV_HUGEPAGE);  // a hint: the system may refuse
#endif
  }
  void* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  std::unique_ptr<void, Free> data_;
};

// Measured on encoding 100 MB of text without huge pages: a third of the hot loop's time was page table walks.
template <class T>
class HugeArray {
 public:
  HugeArray() = default;
  HugeArray(size_t size, const T& value) : HugeArray(size) {
    ask_for_huge_pages();
    std::uninitialized_fill_n(data_.get(), size, value);
  }
  // Not initialised, and on small pages, which take no memory before they are used.
  explicit HugeArray(size_t size) : size_(size) {
    data_.reset(static_cast<T*>(is_large() ? std::aligned_alloc(kPage, whole_pages())
                                : alignof(T) > alignof(std::max_align_t)
                                    ? std::aligned_alloc(alignof(T), size * sizeof(T))
                                    : std::malloc(size * sizeof(T))));
    if (!data_) throw std::bad_alloc();
  }
  void ask_for_huge_pages() const {
#if defined(__linux__)
    if (is_large()) madvise(data_.get(), whole_pages(), MADV_HUGEPAGE);  // a hint: the system may refuse
#endif
  }

  T& operator[](size_t index) { return data_.get()[index]; }
  const T& operator[](size_t index) const { return data_.get()[index]; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return data_.get(); }
  const T* begin() const { return data_.get(); }
  const T* end() const { return data_.get() + size_; }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  static constexpr size_t kPage = size_t{1} << 21;
  size_t whole_pages() const { return (size_ * sizeof(T) + kPage - 1) / kPage * kPage; }
  bool is_large() const { return whole_pages() >= 2 * kPage; }
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::unique_ptr<T, Free> data_;
  size_t size_ = 0;
};

}  // namespace piecework
