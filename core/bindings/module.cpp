// The module that Python imports.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <string>
#include <system_error>

#include "bindings/bindings.hpp"
#include "system/memory.hpp"

namespace nb = nanobind;
using namespace piecework;

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);  // a tokenizer that lives until the process ends is no mistake
  m.doc() = "The native core of Piecework: counting, training, encoding. Use the piecework package instead.";

  // A std::system_error becomes an OSError: a file cannot be opened, read or written.
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::system_error& error) {
      const std::string reason = error.code().message();
      PyErr_SetObject(PyExc_OSError, nb::make_tuple(error.code().value(), reason).ptr());
    }
  });

  bind_pretokenize(m);
  bind_count(m);
  bind_documents(m);
  bind_train(m);
  bind_model(m);
  bind_packed_ids(m);
  bind_encode(m);
  bind_byte_level(m);
  bind_evaluate(m);
  bind_extend(m);
  m.def("return_freed_memory", &return_freed_memory, nb::call_guard<nb::gil_scoped_release>());
}
