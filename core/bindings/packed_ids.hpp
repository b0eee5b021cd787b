// Texts to packed ids, as views of memory that is written to a file or that NumPy and Arrow use without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <cstring>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
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
      one.parts.resize(threads > 1 ? starts.size() : 1);
      one.lengths.resize(batch.views.size());
    }
    // A group is packed while its ids are in the processor's cache, and all ids are never in memory twice.
    encode_views(encoder, batch, starts, threads, [&](size_t group, const IdBatch& ids) {
      for (size_t i = 0; i < packers.size(); ++i) {
        packers[i]->pack(ids, packed[i].parts[threads > 1 ? group : 0], packed[i].lengths.data() + starts[group]);
      }
    });
  }
  nb::list out;
  for (PackedTexts& one : packed) {
    if (one.parts.size() > 1) one.join();
    const nb::bytes lengths(one.lengths.data(), one.lengths.size() * sizeof(uint32_t));
    out.append(nb::make_tuple(to_view<uint8_t>(std::move(one.parts[0])), lengths));
  }
  size_t size_bytes = 0;
  for (const std::string_view text : batch.views) size_bytes += text.size();
  return nb::make_tuple(out, size_bytes);
}

}  // namespace piecework
