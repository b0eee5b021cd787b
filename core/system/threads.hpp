// Runs the same function on several threads and rethrows the first exception.
#pragma once

#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace piecework {

// Calls work(0) on this thread and work(1) to work(threads - 1) on new threads. The calls must take their work from a
// shared queue: the system may give fewer threads than asked for, and then those that run do all the work.
template <class Work>
void run_on_threads(size_t threads, Work&& work) {
  std::vector<std::exception_ptr> failures(threads);
  const auto guarded = [&](size_t t) {
    try {
      work(t);
    } catch (...) {
      failures[t] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(threads);
  for (size_t t = 1; t < threads; ++t) {
    try {
      others.emplace_back(guarded, t);
    } catch (const std::system_error&) {
      break;
    }
  }
  guarded(0);
  for (std::thread& thread : others) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace piecework
