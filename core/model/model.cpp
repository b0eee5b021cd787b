#include "model/model.hpp"

#include "text/space_marks.hpp"

namespace piecework {

namespace {

Normalizer make_normalizer(const Model& model, bool add_dummy_prefix, bool escape_whitespaces) {
  NormalizerSettings settings{model.charsmap,
                              add_dummy_prefix,
                              model.remove_extra_whitespaces,
                              escape_whitespaces,
                              model.treat_whitespace_as_suffix,
                              {}};
  for (size_t id = 0; id < model.size(); ++id) {
    if (model.types[id] == PieceType::user_defined) settings.user_symbols.push_back(model.pieces[id]);
  }
  try {
    return Normalizer(settings);
  } catch (const NormalizerError& error) {
    throw ModelError(error.what());
  }
}

}  // namespace

Normalizer make_normalizer(const Model& model) {
  return make_normalizer(model, model.add_dummy_prefix, model.escape_whitespaces);
}

Normalizer make_unit_normalizer(const Model& model) { return make_normalizer(model, false, false); }

std::string normalized_piece(const Model& model, size_t id) {
  if (model.types[id] == PieceType::unknown || model.types[id] == PieceType::byte) return {};
  const std::string& text = model.pieces[id];
  if (!model.escape_whitespaces) return text;
  if (text.find(' ') != text.npos) return {};
  return replace_marks(text);
}

int byte_of(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const size_t high = kDigits.find(piece[3]), low = kDigits.find(piece[4]);
  return high == kDigits.npos || low == kDigits.npos ? -1 : static_cast<int>(high << 4 | low);
}

}  // namespace piecework
