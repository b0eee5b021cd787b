// Packed ids: how documents are stored in a training dataset.
#include "bindings/packed_ids.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bindings/bindings.hpp"

namespace piecework {

void bind_packed_ids(nb::module_& m) {
  nb::class_<SmallerIds>(m, "SmallerIds")
      .def(nb::init<const std::vector<std::vector<uint32_t>>&, std::vector<uint32_t>, std::shared_ptr<const Encoder>>(),
           nb::arg("ids"), nb::kw_only(), nb::arg("spaces"), nb::arg("runs").none())
      .def_prop_ro("largest_id", &SmallerIds::largest_id);
  nb::class_<IdPacker>(m, "IdPacker")
      .def(nb::init<unsigned, std::vector<uint32_t>, std::vector<uint32_t>, std::shared_ptr<const SmallerIds>>(),
           nb::arg("width"), nb::kw_only(), nb::arg("before"), nb::arg("after"), nb::arg("smaller").none());
}

}  // namespace piecework
