// Scratch memory of an object that several threads call: taken for a call and given back, so that caches stay warm.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace piecework {

template <class Scratch>
class ScratchPool {
 public:
  // Scratch memory for as long as the lease lives. No other thread uses it during this time.
  class Lease {
   public:
    explicit Lease(ScratchPool& pool) : pool_(pool) {
      const std::lock_guard lock(pool.mutex_);
      if (!pool.idle_.empty()) {
        scratch_ = std::move(pool.idle_.back());
        pool.idle_.pop_back();
      }
      if (!scratch_) scratch_ = std::make_unique<Scratch>();
    }
    ~Lease() {
      const std::lock_guard lock(pool_.mutex_);
      pool_.idle_.push_back(std::move(scratch_));
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Scratch& operator*() { return *scratch_; }

   private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace piecework
