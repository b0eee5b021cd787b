// Python strings, bytes and paths as UTF-8.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

#include "text/utf8.hpp"

namespace piecework {

namespace nb = nanobind;

// Views of the UTF-8 of Python strings or bytes, and what keeps them alive. Strings are not asked for their cached
// UTF-8: that would double the memory of the caller's texts for as long as they live.
class TextBatch {
 public:
  explicit TextBatch(size_t n = 0) { views.reserve(n); }
  void add(nb::handle text) {
    PyObject* object = text.ptr();
    if (PyUnicode_Check(object)) {
      if (PyUnicode_IS_COMPACT_ASCII(object)) {
        keep_.push_back(nb::borrow(text));
        views.emplace_back(static_cast<const char*>(PyUnicode_DATA(object)),
                           static_cast<size_t>(PyUnicode_GET_LENGTH(object)));
        return;
      }
      PyObject* utf8 = PyUnicode_AsUTF8String(object);
      if (!utf8) {
        PyErr_Clear();  // a lone surrogate: its bytes are invalid UTF-8 and become U+FFFD
        utf8 = PyUnicode_AsEncodedString(object, "utf-8", "surrogatepass");
        if (!utf8) throw nb::python_error();
        known_valid = false;
      }
      add_bytes(utf8);
      keep_.push_back(nb::steal(utf8));
    } else if (PyBytes_Check(object)) {
      known_valid = false;
      keep_.push_back(nb::borrow(text));
      add_bytes(object);
    } else {
      throw nb::type_error((std::string("a text must be str or bytes, not ") + Py_TYPE(object)->tp_name).c_str());
    }
  }
  std::vector<std::string_view> views;
  bool known_valid = true;

 private:
  void add_bytes(PyObject* bytes) {
    views.emplace_back(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
  }
  std::vector<nb::object> keep_;
};

inline TextBatch texts_of(nb::sequence texts) {
  TextBatch batch(nb::len(texts));
  for (nb::handle text : texts) batch.add(text);
  return batch;
}

// Appends a str as UTF-8, from its characters: no object is made for the bytes of each of many short texts, and none
// are kept in the str for as long as it lives.
inline void append_str(std::string& out, nb::handle text) {
  PyObject* object = text.ptr();
  if (!PyUnicode_Check(object)) throw nb::type_error("a text must be str");
  const auto kind = PyUnicode_KIND(object);
  const void* data = PyUnicode_DATA(object);
  const Py_ssize_t length = PyUnicode_GET_LENGTH(object);
  for (Py_ssize_t i = 0; i < length; ++i) {
    const char32_t code = PyUnicode_READ(kind, data, i);
    if (code >= 0xD800 && code < 0xE000) throw nb::value_error("a text has a lone surrogate, which UTF-8 cannot hold");
    append_utf8(out, code);
  }
}

// A path as the system has it, which may be no valid text.
inline std::string path_of(nb::bytes path) { return {path.c_str(), path.size()}; }

inline std::vector<std::string> paths_of(const std::vector<nb::bytes>& paths) {
  std::vector<std::string> out;
  for (const nb::bytes& path : paths) out.push_back(path_of(path));
  return out;
}

}  // namespace piecework
