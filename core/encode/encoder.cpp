#include "encode/encoder.hpp"

#include <algorithm>
#include <utility>

#include "encode/id_cache.hpp"
#include "text/hash.hpp"
#include "text/text_table.hpp"
#include "text/utf8.hpp"

namespace piecework {

namespace {

constexpr size_t kHuge = 1 << 24;  // bytes of a text after which a thread gives its memory back
// A thread remembers units only after this many bytes of text. Most tokenizers that are only saved or inspected never
// encode more.
constexpr size_t kWorthCache = 1 << 13;

void require_length(std::string_view text) {
  if (text.size() > UINT32_MAX - 64) throw std::length_error("a text of more than 4 GB cannot be encoded at once");
}

// Makes the checks that SentencePiece makes when it loads a model.
Model checked(Model model) {
  if (model.pieces.empty()) throw ModelError("the model has no pieces");
  const TextTable ids(model.pieces, [](uint32_t) { return true; });
  size_t unknown = 0, bytes = 0;
  for (size_t id = 0; id < model.size(); ++id) {
    const std::string& piece = model.pieces[id];
    const auto refuse = [&](const std::string& why) { throw ModelError("piece " + std::to_string(id) + why); };
    if (piece.empty()) refuse(" is empty");
    if (find_invalid_utf8(piece) != piece.size()) refuse(" is not valid UTF-8");
    if (ids.size() < model.size() && ids.find(piece) != id) refuse(" (\"" + piece + "\") is in the vocabulary twice");
    unknown += model.types[id] == PieceType::unknown;
    bytes += model.types[id] == PieceType::byte;
  }
  if (unknown != 1) throw ModelError("the model must have one unknown piece; it has " + std::to_string(unknown));
  if (model.byte_fallback && bytes != 256) {
    throw ModelError("the model falls back to bytes but has " + std::to_string(bytes) + " of 256 byte pieces");
  }
  return model;
}

}  // namespace

// What one thread needs, kept between calls.
struct Encoder::Scratch {
  std::string text;
  Merger::Workspace merging;
  std::optional<IdCache> cache;  // none until kWorthCache bytes were encoded
  size_t encoded_bytes = 0;
  std::unique_ptr<uint32_t[]> ids;
  size_t room = 0;  // of ids
};

Encoder::Encoder(Model model)
    : model_(checked(std::move(model))),
      normalizer_(make_normalizer(model_)),
      merger_(model_),
      unit_normalizer_(make_unit_normalizer(model_)) {
  prepare();
}

Encoder::~Encoder() = default;

void Encoder::prepare() {
  std::vector<std::string> user_defined;
  for (uint32_t id = 0; id < model_.size(); ++id) {
    const std::string& piece = model_.pieces[id];
    if (model_.types[id] == PieceType::unknown) unknown_ = id;
    if (model_.types[id] == PieceType::byte) {
      const int value = byte_of(piece);
      if (value < 0) throw ModelError("byte piece \"" + piece + "\" is not of the form <0xNN>");
      byte_ids_[static_cast<size_t>(value)] = id;
    }
    if (model_.types[id] == PieceType::user_defined) {
      std::string text = normalized_piece(model_, id);
      user_symbol_ids_[text] = id;
      user_defined.push_back(std::move(text));
    }
  }
  units_ = UnitScanner(merger_, PrefixMatcher(std::move(user_defined)));
}

bool Encoder::only_merges(uint32_t id) const {
  const std::string& piece = model_.pieces[id];
  return model_.types[id] == PieceType::normal && !units_.user_symbols().may_be_in(normalized_piece(model_, id)) &&
         decode_utf8(piece.data(), piece.data() + piece.size()).length < piece.size() &&
         piece.find(' ') == piece.npos && model_.charsmap.empty() && !model_.remove_extra_whitespaces &&
         model_.escape_whitespaces && !model_.treat_whitespace_as_suffix;
}

bool Encoder::is_border(char32_t code) const {
  // The merger and the user symbols know ▁ as a space.
  if (model_.escape_whitespaces && code == kSpaceMark) code = ' ';
  std::string utf8;
  append_utf8(utf8, code);
  return merger_.symbol_of(code) == kNoSymbol && !units_.user_symbols().may_be_in(utf8);
}

// A unit that spells a user symbol is this symbol: at the start of each unit the longest one is cut out.
std::optional<uint32_t> Encoder::user_symbol(std::string_view unit) const {
  if (!units_.user_symbols().may_start(unit[0])) return std::nullopt;
  const auto found = user_symbol_ids_.find(unit);
  return found == user_symbol_ids_.end() ? std::nullopt : std::optional(found->second);
}

// Writes the ids of a unit to `out`. Returns the end of the ids.
uint32_t* Encoder::encode_unit(std::string_view unit, Scratch& scratch, uint32_t* out) const {
  if (const auto symbol = user_symbol(unit)) {
    *out++ = *symbol;
    return out;
  }
  merger_.segment(unit, scratch.merging);
  for (const Segment& s : scratch.merging.segments) put_ids(s, unit, [&](uint32_t id) { *out++ = id; });
  return out;
}

void Encoder::encode_with(std::string_view text, bool known_valid, std::vector<uint32_t>& ids, Scratch& scratch) const {
  normalizer_.normalize(text, scratch.text, nullptr, known_valid);
  const size_t end = scratch.text.size();
  scratch.text.append(24, '\0');  // so that a key can be read in one step at any offset
  const std::string_view normalized(scratch.text.data(), end);
  // A byte makes at most one token. The exception is a space if ▁ is no piece: it falls back to three bytes.
  const size_t room =
      end * (model_.escape_whitespaces && merger_.symbol_of(' ') >= model_.size() ? 3 : 1) + IdCache::kMaxIds;
  if (scratch.room < room) {
    scratch.ids = std::make_unique_for_overwrite<uint32_t[]>(room);
    scratch.room = room;
  }
  scratch.encoded_bytes += end;
  if (!scratch.cache && scratch.encoded_bytes >= kWorthCache) scratch.cache.emplace();
  uint32_t* const first = scratch.ids.get();
  uint32_t* out = first;
  const auto encode = [&](std::string_view unit, uint32_t* to) { return encode_unit(unit, scratch, to); };
  if (!scratch.cache) {
    units_.for_each(normalized, [&](size_t begin, size_t unit_end) {
      out = encode(normalized.substr(begin, unit_end - begin), out);
    });
  } else {
    static_assert(UnitScanner::kBlock <= IdCache::kBlock);
    const char* const limit = scratch.text.data() + scratch.text.size();
    units_.for_each_block(normalized, [&](size_t begin, const size_t* ends, size_t count) {
      out = scratch.cache->encode_block(normalized, begin, ends, count, limit, out, encode);
    });
  }
  if (!model_.byte_fallback) {
    // Adjacent unknown characters are one token.
    out = std::unique(first, out, [this](uint32_t a, uint32_t b) { return a == unknown_ && b == unknown_; });
  }
  ids.insert(ids.end(), first, out);
  if (end > kHuge) {
    scratch.text = {};
    scratch.ids.reset();
    scratch.room = 0;
  }
}

void Encoder::encode(std::string_view text, std::vector<uint32_t>& ids) const {
  require_length(text);
  ScratchPool<Scratch>::Lease scratch(scratches_);
  encode_with(text, false, ids, *scratch);
}

void Encoder::encode_groups(const TextGroups& texts, unsigned threads, const TakeBatch& take) const {
  const auto encode_text = [&](std::string_view text, bool known_valid, Scratch& scratch, std::vector<uint32_t>& ids) {
    require_length(text);
    encode_with(text, known_valid, ids, scratch);
  };
  piecework::encode_groups(texts, threads, scratches_, encode_text, take);
}

std::vector<IdBatch> Encoder::encode_batch(const TextGroups& texts, unsigned threads) const {
  return collect_batches(texts, [&](const TakeBatch& take) { encode_groups(texts, threads, take); });
}

std::vector<TokenSpan> Encoder::encode_spans(std::string_view text) const {
  ScratchPool<Scratch>::Lease lease(scratches_);
  Scratch& scratch = *lease;
  std::vector<size_t> origins;
  normalizer_.normalize(text, scratch.text, &origins);
  const std::string_view normalized = scratch.text;
  std::vector<TokenSpan> spans;
  const auto printed = [&](std::string_view part) {
    std::string out;
    for (const char c : part) {
      if (c == ' ' && model_.escape_whitespaces) {
        out += kSpaceMarkUtf8;
      } else {
        out += c;
      }
    }
    return out;
  };
  const auto put = [&](SymbolId symbol, size_t begin, size_t length) {
    const size_t from = origins[begin], to = origins[begin + length];
    const std::string part = printed(normalized.substr(begin, length));
    if (symbol < model_.size()) {
      spans.push_back({symbol, from, to, part});
    } else if (model_.byte_fallback) {
      for (size_t i = 0; i < part.size(); ++i) {
        const uint32_t id = byte_ids_[static_cast<unsigned char>(part[i])];
        spans.push_back({id, from, i + 1 == part.size() ? to : from, model_.pieces[id]});
      }
    } else if (!spans.empty() && spans.back().id == unknown_) {
      spans.back().end = to;
      spans.back().piece += part;
    } else {
      spans.push_back({unknown_, from, to, part});
    }
  };
  units_.for_each(normalized, [&](size_t begin, size_t end) {
    const std::string_view unit = normalized.substr(begin, end - begin);
    if (const auto symbol = user_symbol(unit)) return put(*symbol, begin, unit.size());
    merger_.segment(unit, scratch.merging);
    for (const Segment& s : scratch.merging.segments) put(s.symbol, begin + s.begin, s.length);
  });
  return spans;
}

}  // namespace piecework
