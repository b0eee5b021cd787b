// Python strings, bytes and paths as UTF-8.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace piecework {

namespace nb = nanobind;

// The characters of an ASCII str, without a copy; nothing for any other str.
inline std::optional<std::string_view> ascii_of(PyObject* str) {
#ifdef Py_LIMITED_API  // the stable ABI has no macro for this; the UTF-8 of an ASCII str is the str itself, and no copy
  if (!nb::cast<bool>(nb::handle(str).attr("isascii")())) return std::nullopt;
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(str, &size);
  if (!data) throw nb::python_error();
  return std::string_view(data, static_cast<size_t>(size));
#else
  if (!PyUnicode_IS_COMPACT_ASCII(str)) return std::nullopt;
  return std::string_view(static_cast<const char*>(PyUnicode_DATA(str)),
                          static_cast<size_t>(PyUnicode_GET_LENGTH(str)));
#endif
}

inline std::string_view view_of(PyObject* bytes) {
  return {PyBytes_AsString(bytes), static_cast<size_t>(PyBytes_Size(bytes))};
}

[[noreturn]] inline void refuse_text(nb::handle object) {
  const std::string name = nb::cast<std::string>(object.type().attr("__name__"));
  throw nb::type_error(("a text must be str or bytes, not " + name).c_str());
}

// The size of a str in characters, or of bytes.
inline size_t text_size(nb::handle text) {
  if (PyUnicode_Check(text.ptr())) return static_cast<size_t>(PyUnicode_GetLength(text.ptr()));
  if (PyBytes_Check(text.ptr())) return static_cast<size_t>(PyBytes_Size(text.ptr()));
  refuse_text(text);
}

// Views of the UTF-8 of Python strings or bytes, and the objects that keep them alive. Python could cache the UTF-8 in
// each str. This is avoided: it would double the memory of the caller's texts for as long as they live.
class TextBatch {
 public:
  explicit TextBatch(size_t n = 0) { views.reserve(n); }
  void add(nb::handle text) {
    PyObject* object = text.ptr();
    if (PyUnicode_Check(object)) {
      if (const auto ascii = ascii_of(object)) {
        keep_.push_back(nb::borrow(text));
        views.push_back(*ascii);
        return;
      }
      PyObject* utf8 = PyUnicode_AsUTF8String(object);
      if (!utf8) {
        PyErr_Clear();  // a lone surrogate: its bytes are invalid UTF-8 and become U+FFFD
        utf8 = PyUnicode_AsEncodedString(object, "utf-8", "surrogatepass");
        if (!utf8) throw nb::python_error();
        known_valid = false;
      }
      views.push_back(view_of(utf8));
      keep_.push_back(nb::steal(utf8));
    } else if (PyBytes_Check(object)) {
      known_valid = false;
      keep_.push_back(nb::borrow(text));
      views.push_back(view_of(object));
    } else {
      refuse_text(text);
    }
  }
  std::vector<std::string_view> views;
  bool known_valid = true;

 private:
  std::vector<nb::object> keep_;
};

inline TextBatch texts_of(nb::sequence texts) {
  TextBatch batch(nb::len(texts));
  for (nb::handle text : texts) batch.add(text);
  return batch;
}

// Appends a str as UTF-8, and caches nothing in the str.
inline void append_str(std::string& out, nb::handle text) {
  PyObject* object = text.ptr();
  if (!PyUnicode_Check(object)) throw nb::type_error("a text must be str");
  if (const auto ascii = ascii_of(object)) {
    out += *ascii;
    return;
  }
  PyObject* utf8 = PyUnicode_AsUTF8String(object);
  if (!utf8) {
    PyErr_Clear();
    throw nb::value_error("a text has a lone surrogate, which UTF-8 cannot hold");
  }
  out += view_of(utf8);
  Py_DECREF(utf8);
}

// A path in the bytes that the system uses. They may not be valid text.
inline std::string path_of(nb::bytes path) { return {path.c_str(), path.size()}; }

inline std::vector<std::string> paths_of(const std::vector<nb::bytes>& paths) {
  std::vector<std::string> out;
  for (const nb::bytes& path : paths) out.push_back(path_of(path));
  return out;
}

}  // namespace piecework
