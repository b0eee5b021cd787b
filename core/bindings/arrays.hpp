// Memory of the core as Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <vector>

namespace piecework {

namespace nb = nanobind;

// Python's memory in one piece: what a pyarrow buffer is made from.
inline nb::bytes raw_bytes(const void* data, size_t size) { return nb::bytes(static_cast<const char*>(data), size); }

template <auto write, class From>
nb::bytes written(const From& from) {
  std::string bytes;
  {
    nb::gil_scoped_release unlocked;
    bytes = write(from);
  }
  return raw_bytes(bytes.data(), bytes.size());
}

template <class T>
nb::bytes column_bytes(const std::vector<T>& values) {
  return raw_bytes(values.data(), values.size() * sizeof(T));
}

template <class T>
std::span<const T> column_of(const nb::bytes& bytes) {
  return {static_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

// So many numbers as bytes, which `fill` writes while others run.
template <class Number, class Fill>
nb::bytes filled_bytes(size_t size, Fill&& fill) {
  nb::bytes bytes =
      nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size * sizeof(Number))));
  if (!bytes.is_valid()) throw nb::python_error();
  nb::gil_scoped_release unlocked;
  fill(reinterpret_cast<Number*>(PyBytes_AS_STRING(bytes.ptr())));
  return bytes;
}

}  // namespace piecework
