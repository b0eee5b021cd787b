// Texts to lists of ids for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "bindings/python_texts.hpp"
#include "encode/text_batches.hpp"

namespace piecework {

namespace nb = nanobind;

// Python's ints for ids, made once: a list of ids is then a list of pointers.
inline PyObject* id_object(uint32_t id) {
  static std::vector<PyObject*> objects;
  while (objects.size() <= id) objects.push_back(PyLong_FromSize_t(objects.size()));
  return Py_NewRef(objects[id]);
}

// Lists of ints cannot form cycles, but each new list brings the next garbage collection closer. Collections took a
// sixth of the time.
class PausedCollector {
 public:
  PausedCollector() : was_enabled_(PyGC_Disable()) {}
  ~PausedCollector() {
    if (was_enabled_) PyGC_Enable();
  }
  PausedCollector(const PausedCollector&) = delete;
  PausedCollector& operator=(const PausedCollector&) = delete;

 private:
  bool was_enabled_;
};

inline nb::list id_list(const uint32_t* first, const uint32_t* last) {
  PyObject* list = PyList_New(last - first);
  if (!list) throw nb::python_error();
  for (Py_ssize_t i = 0; first + i < last; ++i) NB_LIST_SET_ITEM(list, i, id_object(first[i]));
  return nb::steal<nb::list>(list);
}

// Returns a list for each text. Each result is freed after its ids are copied.
inline nb::list id_lists(std::vector<IdBatch>& results) {
  nb::list out;
  const PausedCollector paused;
  for (IdBatch& result : results) {
    size_t begin = 0;
    for (const size_t end : result.ends) {
      out.append(id_list(result.ids.data() + begin, result.ids.data() + end));
      begin = end;
    }
    result = {};
  }
  return out;
}

template <class AnyEncoder>
nb::list encode_batch(const AnyEncoder& encoder, nb::sequence texts, unsigned threads) {
  const PythonTexts groups(texts);
  std::vector<IdBatch> results;
  {
    nb::gil_scoped_release unlocked;
    results = encoder.encode_batch(groups, threads);
  }
  return id_lists(results);
}

}  // namespace piecework
