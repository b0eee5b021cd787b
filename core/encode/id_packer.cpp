#include "encode/id_packer.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

namespace piecework {

namespace {

// Returns the end of what was written. `seen` gets all bits of all ids, so that one check is enough for a batch.
template <class Id>
Id* narrow(const uint32_t* first, const uint32_t* last, Id* to, uint32_t& seen) {
  for (; first < last; ++first) {
    seen |= *first;
    *to++ = static_cast<Id>(*first);
  }
  return to;
}

}  // namespace

IdPacker::IdPacker(unsigned width, std::vector<uint32_t> before, std::vector<uint32_t> after,
                   std::shared_ptr<const SmallerIds> smaller)
    : width_(width), before_(std::move(before)), after_(std::move(after)) {
  if (width != 2 && width != 4) throw std::invalid_argument("an id takes 2 or 4 bytes");
  if (smaller && width == 2) smaller_.emplace<SmallerTable<uint16_t>>(std::move(smaller));
  if (smaller && width == 4) smaller_.emplace<SmallerTable<uint32_t>>(std::move(smaller));
}

template <class Id>
void IdPacker::pack_batch(const IdBatch& batch, PackedBuffer& out, uint32_t* lengths) const {
  const auto* const smaller = std::get_if<SmallerTable<Id>>(&smaller_);
  const size_t around = before_.size() + after_.size();
  // With a smaller vocabulary there are more ids; the buffer grows when they come.
  out.room<Id>(batch.ids.size() + batch.ends.size() * around);
  uint32_t seen = 0;
  const uint32_t* begin = batch.ids.data();
  for (size_t i = 0; i < batch.ends.size(); ++i) {
    const uint32_t* const end = batch.ids.data() + batch.ends[i];
    const size_t start = out.size();
    Id* to = out.room<Id>(before_.size());
    out.end_at(narrow(before_.data(), before_.data() + before_.size(), to, seen));
    if (smaller) {
      smaller->put(begin, end, out);
    } else {
      out.end_at(narrow(begin, end, out.room<Id>(static_cast<size_t>(end - begin)), seen));
    }
    to = out.room<Id>(after_.size());
    out.end_at(narrow(after_.data(), after_.data() + after_.size(), to, seen));
    const size_t length = (out.size() - start) / sizeof(Id);
    if (length > std::numeric_limits<int32_t>::max()) throw std::overflow_error("a document has 2^31 tokens or more");
    lengths[i] = static_cast<uint32_t>(length);
    begin = end;
  }
  if (seen > std::numeric_limits<Id>::max()) throw std::overflow_error("an id does not fit into 2 bytes");
}

void IdPacker::pack(const IdBatch& batch, PackedBuffer& out, uint32_t* lengths) const {
  if (width_ == 2) {
    pack_batch<uint16_t>(batch, out, lengths);
  } else {
    pack_batch<uint32_t>(batch, out, lengths);
  }
}

}  // namespace piecework
