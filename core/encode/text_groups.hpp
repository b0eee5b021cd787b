// Texts in groups of about 256 KB: threads share the groups, and take them in any order.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace piecework {

// The texts of a group. A thread uses the same object for all its groups.
struct TextGroup {
  std::vector<std::string_view> texts;
  bool known_valid = false;     // all are valid UTF-8
  std::shared_ptr<void> owner;  // of texts that are UTF-8 only while they are encoded
};

class TextGroups {
 public:
  virtual ~TextGroups() = default;

  size_t size() const { return starts_.size() - 1; }
  // The number of the first text of a group; that of the group after the last one is the number of all texts.
  size_t start(size_t group) const { return starts_[group]; }
  // Replaces the texts in `group`. Several threads call it.
  virtual void read(size_t number, TextGroup& group) const = 0;

 protected:
  // `size_of(i)` is the size of text i in bytes, or a number near it.
  template <class SizeOf>
  void divide(size_t count, SizeOf&& size_of) {
    constexpr size_t kGroup = 1 << 18;
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      bytes += size_of(i) + 16;
      if (bytes >= kGroup || i + 1 == count) {
        starts_.push_back(i + 1);
        bytes = 0;
      }
    }
  }

 private:
  std::vector<size_t> starts_{0};
};

// Texts that are in memory as UTF-8. `known_valid`: all are valid.
class TextViews final : public TextGroups {
 public:
  TextViews(std::vector<std::string_view> texts, bool known_valid)
      : texts_(std::move(texts)), known_valid_(known_valid) {
    divide(texts_.size(), [&](size_t i) { return texts_[i].size(); });
  }

  void read(size_t number, TextGroup& group) const override {
    group.texts.assign(texts_.data() + start(number), texts_.data() + start(number + 1));
    group.known_valid = known_valid_;
  }

 private:
  std::vector<std::string_view> texts_;
  bool known_valid_;
};

}  // namespace piecework
