// Memory of the core as Python objects: bytes, and arrays that own it without a copy.
// A view is also a typed array: a memoryview of Python. Commands that need no NumPy start without NumPy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace piecework {

namespace nb = nanobind;

template <class Number>
using Array = nb::ndarray<nb::numpy, Number, nb::c_contig>;
template <class Number>
using View = nb::ndarray<nb::memview, const Number, nb::ndim<1>, nb::c_contig>;
// An array that Python gives.
template <class Number, class... Shape>
using InputArray = nb::ndarray<const Number, nb::c_contig, nb::device::cpu, Shape...>;

inline nb::bytes to_bytes(std::string_view data) { return nb::bytes(data.data(), data.size()); }

// Returns write(from) as bytes. The GIL is released during the call.
template <auto write, class From>
nb::bytes written(const From& from) {
  std::string data;
  {
    nb::gil_scoped_release unlocked;
    data = write(from);
  }
  return to_bytes(data);
}

// An array that owns the memory of a vector. A vector of structs has their fields as the last axis of `shape`.
template <class Number, class T>
Array<Number> to_array(std::vector<T> values, const std::vector<size_t>& shape) {
  size_t size = 1;
  for (const size_t axis : shape) size *= axis;
  static_assert(sizeof(T) % sizeof(Number) == 0);
  if (size * sizeof(Number) != values.size() * sizeof(T)) throw std::logic_error("an array has another shape");
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  auto* const data = reinterpret_cast<Number*>(owned->data());
  const nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  owned.release();
  return Array<Number>(data, shape.size(), shape.data(), owner);
}

template <class Number>
Array<Number> to_array(std::vector<Number> values) {
  const std::vector<size_t> shape{values.size()};
  return to_array<Number>(std::move(values), shape);
}

// A view that owns the memory of a vector or a string.
template <class Number, class Column>
View<Number> to_view(Column column) {
  static_assert(sizeof(Number) == sizeof(*column.data()));
  column.reserve(1);  // pyarrow aborts the process on a null pointer, even where the view is empty
  auto owned = std::make_unique<Column>(std::move(column));
  const auto* const data = reinterpret_cast<const Number*>(owned->data());
  const size_t size = owned->size();
  const nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<Column*>(p); });
  owned.release();
  return View<Number>(data, {size}, owner);
}

// An array with the numbers that `fill` writes while the GIL is released. They are not set to 0 before.
template <class Number, class Fill>
Array<Number> filled_array(const std::vector<size_t>& shape, Fill&& fill) {
  size_t size = 1;
  for (const size_t axis : shape) size *= axis;
  auto owned = std::make_unique_for_overwrite<Number[]>(size);
  {
    nb::gil_scoped_release unlocked;
    fill(owned.get());
  }
  auto* const data = owned.get();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<Number*>(p); });
  owned.release();
  return Array<Number>(data, shape.size(), shape.data(), owner);
}

}  // namespace piecework
