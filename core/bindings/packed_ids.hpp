// Texts to packed ids, as bytes that are written to a file or that NumPy and Arrow use without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <cstring>
#include <vector>

#include "bindings/arrow.hpp"
#include "bindings/text.hpp"
#include "encode/byte_level_encoder.hpp"
#include "encode/encoder.hpp"
#include "encode/id_packer.hpp"

namespace piecework {

inline void encode_views(const Encoder& encoder, const TextBatch& texts, const std::vector<size_t>& starts,
                         unsigned threads, const TakeBatch& take) {
  encoder.encode_groups(texts.views, starts, threads, take);
}

inline void encode_views(const ByteLevelEncoder& encoder, const TextBatch& texts, const std::vector<size_t>& starts,
                         unsigned threads, const TakeBatch& take) {
  encoder.encode_groups(texts.views, starts, texts.known_valid, threads, take);
}

// What a packer made of all texts: a part for each group of texts, and the number of ids of each text.
struct PackedTexts {
  std::vector<PackedBuffer> parts;
  std::vector<uint32_t> lengths;
  size_t size_bytes() const {
    size_t size = 0;
    for (const PackedBuffer& part : parts) size += part.size_bytes();
    return size;
  }
};

// For each packer the ids of all texts, and the number of ids of each text as uint32; also the size of the texts in
// UTF-8. `texts` is a sequence of str or bytes, or an Arrow array of strings.
template <class AnyEncoder>
nb::tuple encode_packed(const AnyEncoder& encoder, nb::object texts, const std::vector<const IdPacker*>& packers,
                        unsigned threads) {
  TextBatch batch;
  std::vector<nb::object> keep;
  if (nb::hasattr(texts, "__arrow_c_array__")) {
    const ArrowInput input(texts);
    batch.views = arrow_strings(*input.schema, *input.array);
    batch.known_valid = false;
    keep.push_back(input.capsules);
  } else {
    batch = texts_of(nb::cast<nb::sequence>(texts));
  }
  std::vector<PackedTexts> packed(packers.size());
  {
    nb::gil_scoped_release unlocked;
    const std::vector<size_t> starts = group_starts(batch.views);
    for (PackedTexts& one : packed) {
      one.parts.resize(starts.size() - 1);
      one.lengths.resize(batch.views.size());
    }
    // A group is packed while its ids are in the processor's cache, and all ids are never in memory twice.
    encode_views(encoder, batch, starts, threads, [&](size_t group, const IdBatch& ids) {
      for (size_t i = 0; i < packers.size(); ++i) {
        packers[i]->pack(ids, packed[i].parts[group], packed[i].lengths.data() + starts[group]);
      }
    });
  }
  nb::list out;
  for (PackedTexts& one : packed) {
    PyObject* ids = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(one.size_bytes()));
    if (!ids) throw nb::python_error();
    char* to = PyBytes_AsString(ids);
    for (PackedBuffer& part : one.parts) {
      if (part.size_bytes()) std::memcpy(to, part.data(), part.size_bytes());
      to += part.size_bytes();
      part = {};
    }
    const nb::bytes lengths(one.lengths.data(), one.lengths.size() * sizeof(uint32_t));
    out.append(nb::make_tuple(nb::steal(ids), lengths));
  }
  size_t size_bytes = 0;
  for (const std::string_view text : batch.views) size_bytes += text.size();
  return nb::make_tuple(out, size_bytes);
}

}  // namespace piecework
