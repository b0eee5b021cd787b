// Reports the progress of training to Python.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>

#include "train/trainer.hpp"

namespace piecework {

namespace nb = nanobind;

// Calls `callback(done, wanted)` at most every 50 ms, and lets Ctrl-C through.
inline Progress progress_to(const std::optional<nb::callable>& callback) {
  auto last = std::chrono::steady_clock::now();
  return [callback, last](uint64_t done, uint64_t wanted) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (done < wanted && now - last < std::chrono::milliseconds(50)) return;
    last = now;
    nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals()) throw nb::python_error();
    if (callback && wanted != UINT64_MAX) (*callback)(done, wanted);
  };
}

}  // namespace piecework
