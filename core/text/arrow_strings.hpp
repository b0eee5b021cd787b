// Reads the strings of an Arrow array through the C data interface, without a copy and without the Arrow library.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace piecework {

// The two structs of the Arrow C data interface, whose layout is fixed by its specification.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

// The strings of an array of type utf8, large_utf8 or utf8_view (or the binary types of the same layouts). Nulls are
// left out.
inline std::vector<std::string_view> arrow_strings(const ArrowSchema& schema, const ArrowArray& array) {
  const std::string_view format = schema.format;
  const bool narrow = format == "u" || format == "z", wide = format == "U" || format == "Z";
  const bool views = format == "vu" || format == "vz";
  if (!narrow && !wide && !views) {
    throw std::invalid_argument("an Arrow array of strings is needed; this one has the format \"" +
                                std::string(format) + "\"");
  }
  const auto* validity = static_cast<const uint8_t*>(array.buffers[0]);
  std::vector<std::string_view> strings;
  strings.reserve(static_cast<size_t>(array.length));
  for (int64_t i = array.offset; i < array.offset + array.length; ++i) {
    if (validity && !(validity[i / 8] >> (i % 8) & 1)) continue;
    if (views) {
      // 16 bytes: the length, then either up to 12 bytes inline, or a prefix, the index of a buffer and an offset in
      // it.
      const auto* view = static_cast<const char*>(array.buffers[1]) + 16 * i;
      int32_t words[4];
      std::memcpy(words, view, 16);
      if (words[0] < 0) throw std::invalid_argument("the offsets of an Arrow array of strings are damaged");
      const auto length = static_cast<size_t>(words[0]);
      const char* data = words[0] <= 12 ? view + 4 : static_cast<const char*>(array.buffers[2 + words[2]]) + words[3];
      strings.emplace_back(data, length);
    } else {
      const auto* data = static_cast<const char*>(array.buffers[2]);
      const int64_t begin =
          narrow ? static_cast<const int32_t*>(array.buffers[1])[i] : static_cast<const int64_t*>(array.buffers[1])[i];
      const int64_t end = narrow ? static_cast<const int32_t*>(array.buffers[1])[i + 1]
                                 : static_cast<const int64_t*>(array.buffers[1])[i + 1];
      if (begin < 0 || end < begin) throw std::invalid_argument("the offsets of an Arrow array of strings are damaged");
      strings.emplace_back(data + begin, static_cast<size_t>(end - begin));
    }
  }
  return strings;
}

}  // namespace piecework
