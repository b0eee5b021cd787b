// Ids of documents as a training dataset stores them: 2 or 4 bytes each, one document after the other, with ids before
// and after each. Also the ids of a smaller vocabulary, from the same encoding.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "encode/packed_buffer.hpp"
#include "encode/smaller_ids.hpp"
#include "encode/text_batches.hpp"

namespace piecework {

class IdPacker {
 public:
  // Throws std::invalid_argument if `width` is not 2 or 4, std::overflow_error if an id of `smaller` does not fit.
  IdPacker(unsigned width, std::vector<uint32_t> before, std::vector<uint32_t> after,
           std::shared_ptr<const SmallerIds> smaller);

  // Appends the packed ids of a batch, and writes the number of ids of each of its texts. Throws std::overflow_error if
  // an id does not fit: nothing is ever cut off.
  void pack(const IdBatch& batch, PackedBuffer& out, uint32_t* lengths) const;

 private:
  template <class Id>
  void pack_batch(const IdBatch& batch, PackedBuffer& out, uint32_t* lengths) const;

  unsigned width_;
  std::vector<uint32_t> before_, after_;
  std::variant<std::monostate, SmallerTable<uint16_t>, SmallerTable<uint32_t>> smaller_;
};

}  // namespace piecework
