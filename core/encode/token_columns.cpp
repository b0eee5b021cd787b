#include "encode/token_columns.hpp"

#include <string>

#include "text/utf8.hpp"

namespace piecework {
namespace {

// For shorter texts it does not pay to make the merge trees, which know the lengths of pieces.
constexpr size_t kLong = 1 << 14;

// Turns offsets in bytes, each at least as large as the one before, into offsets in characters.
class CharacterCount {
 public:
  explicit CharacterCount(std::string_view text) : text_(text) {}
  uint32_t operator()(size_t offset) {
    for (; at_ < offset; ++at_) leads_ += !is_inside(at_);
    return offset < text_.size() && is_inside(offset) ? leads_ - 1 : leads_;
  }

 private:
  bool is_inside(size_t offset) const { return is_continuation(static_cast<unsigned char>(text_[offset])); }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t leads_ = 0;
};

// The offset in a text of each byte of its normalised form. Most texts only get the dummy prefix.
class Origins {
 public:
  Origins(const Encoder& encoder, std::string_view text) {
    if (!encoder.normalizes() && !encoder.model().treat_whitespace_as_suffix) {
      encoder.normalizer().normalize(text, normalized);
      prefix_ = encoder.model().add_dummy_prefix;
      if (std::string_view(normalized).substr(prefix_) == text) return;
    }
    encoder.normalizer().normalize(text, normalized, &origins_);
  }
  size_t operator[](size_t at) const { return !origins_.empty() ? origins_[at] : at < prefix_ ? 0 : at - prefix_; }

  std::string normalized;

 private:
  size_t prefix_ = 0;
  std::vector<size_t> origins_;
};

// Encodes without offsets, which is several times as fast, and then adds up the lengths of the tokens. Returns false if
// there is an unknown token, whose length its id does not tell.
bool append_by_lengths(const Encoder& encoder, std::string_view text, TokenColumns& columns) {
  const Model& model = encoder.model();
  const MergeTrees& trees = encoder.trees();
  const size_t first = columns.ids.size();
  encoder.encode(text, columns.ids);
  const Origins origins(encoder, text);
  const std::string& normalized = origins.normalized;
  columns.starts.reserve(columns.ids.size());
  columns.ends.reserve(columns.ids.size());
  CharacterCount starts(text), ends(text);
  size_t known = 0;  // mostly a token starts where the one before it ends
  uint32_t known_characters = 0;
  const auto put = [&](size_t from, size_t to) {
    columns.starts.push_back(from == known ? known_characters : starts(from));
    known = to;
    columns.ends.push_back(known_characters = ends(to));
  };
  size_t at = 0;
  for (size_t i = first; i < columns.ids.size();) {
    const uint32_t id = columns.ids[i];
    size_t length = trees[id].length, tokens = 1;
    if (model.types[id] == PieceType::unknown) return false;
    if (model.types[id] == PieceType::byte) {
      length = decode_utf8(normalized.data() + at, normalized.data() + normalized.size()).length;
      tokens = normalized[at] == ' ' && model.escape_whitespaces ? kSpaceMarkUtf8.size() : length;
    }
    for (size_t part = 1; part < tokens; ++part) put(origins[at], origins[at]);
    put(origins[at], origins[at + length]);
    at += length;
    i += tokens;
  }
  return true;
}

}  // namespace

void append_tokens(const Encoder& encoder, std::string_view text, TokenColumns& columns) {
  const size_t first = columns.ids.size();
  if (text.size() >= kLong && append_by_lengths(encoder, text, columns)) return;
  for (auto* const column : {&columns.ids, &columns.starts, &columns.ends}) column->resize(first);
  CharacterCount starts(text), ends(text);
  for (const TokenSpan& span : encoder.encode_spans(text)) {
    columns.ids.push_back(span.id);
    columns.starts.push_back(starts(span.begin));
    columns.ends.push_back(ends(span.end));
  }
}

}  // namespace piecework
