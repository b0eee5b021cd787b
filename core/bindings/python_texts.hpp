// Python's texts as UTF-8, for as long as they are encoded.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <vector>

#include "bindings/text.hpp"
#include "encode/text_groups.hpp"

namespace piecework {

// A sequence of str or bytes. It is converted a group at a time, in memory that the next group uses again: as UTF-8 all
// texts together would take as much memory as the texts, and new memory is slow.
class PythonTexts final : public TextGroups {
 public:
  explicit PythonTexts(nb::sequence texts) {
    texts_.reserve(nb::len(texts));
    for (nb::handle text : texts) texts_.push_back(nb::borrow(text));
    divide(texts_.size(), [&](size_t i) { return text_size(texts_[i]); });
  }

  void read(size_t number, TextGroup& group) const override {
    const nb::gil_scoped_acquire locked;
    group.owner.reset();
    auto batch = std::make_unique<TextBatch>(start(number + 1) - start(number));
    size_t bytes = 0;
    for (size_t i = start(number); i < start(number + 1); ++i) {
      batch->add(texts_[i]);
      bytes += batch->views.back().size();
    }
    size_bytes_ += bytes;
    group.texts = batch->views;
    group.known_valid = batch->known_valid;
    group.owner = std::shared_ptr<TextBatch>(batch.release(), [](TextBatch* done) {
      const nb::gil_scoped_acquire locked_again;
      delete done;
    });
  }

  // The size in UTF-8 of all texts that were read.
  size_t size_bytes() const { return size_bytes_; }

 private:
  std::vector<nb::object> texts_;
  mutable std::atomic<size_t> size_bytes_{0};
};

}  // namespace piecework
