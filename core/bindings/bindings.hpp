// The bindings of each stage. Their files only convert, release the GIL and map errors.
#pragma once

#include <nanobind/nanobind.h>

namespace piecework {

namespace nb = nanobind;

void bind_pretokenize(nb::module_& m);
void bind_count(nb::module_& m);
void bind_documents(nb::module_& m);
void bind_train(nb::module_& m);
void bind_model(nb::module_& m);
void bind_packed_ids(nb::module_& m);
void bind_encode(nb::module_& m);
void bind_byte_level(nb::module_& m);
void bind_evaluate(nb::module_& m);
void bind_extend(nb::module_& m);

}  // namespace piecework
