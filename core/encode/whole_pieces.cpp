#include "encode/whole_pieces.hpp"

#include <algorithm>
#include <string_view>

#include "text/utf8.hpp"

namespace piecework {
namespace {

// Whether a piece never merges with its frame. The frame must be characters that are in no piece. The text before the
// piece may also be a user-defined symbol, if no longer symbol starts with it.
bool keeps_apart(const Encoder& encoder, const Frame& frame) {
  const Model& model = encoder.model();
  const auto is_border = [&](const std::string& text) {
    if (text.empty()) return false;
    const Decoded c = decode_utf8(text.data(), text.data() + text.size());
    return c.length == text.size() && encoder.is_border(c.code);
  };
  if (!frame.after.empty() && !is_border(frame.after)) return false;
  if (is_border(frame.before)) return true;
  bool is_symbol = false;
  for (size_t id = 0; id < model.size(); ++id) {
    if (model.types[id] != PieceType::user_defined || !model.pieces[id].starts_with(frame.before)) continue;
    if (model.pieces[id].size() > frame.before.size()) return false;
    is_symbol = !frame.ids_before.empty() && frame.ids_before.back() == id;
  }
  return is_symbol;
}

}  // namespace

std::vector<uint8_t> whole_pieces(const Encoder& encoder, const Frame& frame) {
  const Model& model = encoder.model();
  std::vector<uint8_t> whole(model.size(), 0);
  std::string texts;
  std::vector<uint32_t> unsure;
  std::vector<size_t> ends;
  // A merge tree tells whether the characters of a piece, without other text, merge to the piece.
  const bool apart = keeps_apart(encoder, frame);
  for (uint32_t id = 0; id < model.size(); ++id) {
    if (apart && encoder.only_merges(id)) {
      whole[id] = encoder.trees()[id].time != MergeTrees::kNever;
      continue;
    }
    unsure.push_back(id);
    texts += frame.before;
    size_t at = texts.size();
    texts += model.pieces[id];
    if (frame.plain_spaces) {
      for (; (at = texts.find(kSpaceMarkUtf8, at)) != texts.npos;) texts.replace(at, kSpaceMarkUtf8.size(), 1, ' ');
    }
    texts += frame.after;
    ends.push_back(texts.size());
  }
  std::vector<std::string_view> views;
  size_t begin = 0;
  for (const size_t end : ends) {
    views.emplace_back(texts.data() + begin, end - begin);
    begin = end;
  }
  std::vector<uint32_t> expected = frame.ids_before;
  expected.push_back(0);
  expected.insert(expected.end(), frame.ids_after.begin(), frame.ids_after.end());
  auto id = unsure.begin();
  for (const IdBatch& batch : encoder.encode_batch(TextViews(std::move(views), false), 1)) {
    const uint32_t* ids = batch.ids.data();
    for (const size_t end : batch.ends) {
      const uint32_t* last = batch.ids.data() + end;
      expected[frame.ids_before.size()] = *id;
      whole[*id++] = std::equal(ids, last, expected.begin(), expected.end());
      ids = last;
    }
  }
  return whole;
}

}  // namespace piecework
