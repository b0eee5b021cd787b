// Texts to packed ids, as views of memory that is written to a file or that NumPy and Arrow use without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <cstring>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/arrow.hpp"
#include "bindings/python_texts.hpp"
#include "encode/id_packer.hpp"

namespace piecework {

// What a packer made of all texts, and the number of ids of each text. One thread packs all groups of texts into one
// part; several threads pack each group into its own, because any thread may take it.
struct PackedTexts {
  std::vector<PackedBuffer> parts;
  std::vector<uint32_t> lengths;

  void join() {
    size_t size = 0;
    for (const PackedBuffer& part : parts) size += part.size();
    PackedBuffer all;
    char* to = all.room<char>(size);
    for (PackedBuffer& part : parts) {
      if (part.size()) std::memcpy(to, part.data(), part.size());
      to += part.size();
      part = {};
    }
    all.end_at(to);
    parts.clear();
    parts.push_back(std::move(all));
  }
};

// For each packer the ids of all texts, and the number of ids of each text as uint32. The GIL is released during the
// call.
template <class AnyEncoder>
nb::list pack_texts(const AnyEncoder& encoder, const TextGroups& texts, const std::vector<const IdPacker*>& packers,
                    unsigned threads) {
  std::vector<PackedTexts> packed(packers.size());
  {
    nb::gil_scoped_release unlocked;
    for (PackedTexts& one : packed) {
      one.parts.resize(threads > 1 && texts.size() > 0 ? texts.size() : 1);
      one.lengths.resize(texts.start(texts.size()));
    }
    // A group is packed while its ids are in the processor's cache, and all ids are never in memory twice.
    encoder.encode_groups(texts, threads, [&](size_t group, const IdBatch& ids) {
      for (size_t i = 0; i < packers.size(); ++i) {
        packers[i]->pack(ids, packed[i].parts[threads > 1 ? group : 0], packed[i].lengths.data() + texts.start(group));
      }
    });
    for (PackedTexts& one : packed) {
      if (one.parts.size() > 1) one.join();
    }
  }
  nb::list out;
  for (PackedTexts& one : packed) {
    const nb::bytes lengths(one.lengths.data(), one.lengths.size() * sizeof(uint32_t));
    out.append(nb::make_tuple(to_view<uint8_t>(std::move(one.parts[0])), lengths));
  }
  return out;
}

// The same, and the size of the texts in UTF-8. `texts` is a sequence of str or bytes, or an Arrow array of strings.
template <class AnyEncoder>
nb::tuple encode_packed(const AnyEncoder& encoder, nb::object texts, const std::vector<const IdPacker*>& packers,
                        unsigned threads) {
  if (!nb::hasattr(texts, "__arrow_c_array__")) {
    const PythonTexts groups(nb::cast<nb::sequence>(texts));
    const nb::list packed = pack_texts(encoder, groups, packers, threads);
    return nb::make_tuple(packed, groups.size_bytes());
  }
  const ArrowInput input(texts);
  const std::vector<std::string_view> views = arrow_strings(*input.schema, *input.array);
  size_t size_bytes = 0;
  for (const std::string_view view : views) size_bytes += view.size();
  return nb::make_tuple(pack_texts(encoder, TextViews(views, false), packers, threads), size_bytes);
}

}  // namespace piecework
