#include "encode/encoder.hpp"

#include <algorithm>
#include <optional>
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

// A unit of a text that waits for its ids.
struct Encoder::PendingUnit {
  IdCache::Key key;
  uint64_t hash;
  size_t begin, length;
  uint32_t id;  // if it is known already, else kNoSymbol
};

// What one thread needs, kept between calls.
struct Encoder::Scratch {
  static constexpr size_t kUnits = 32;

  std::string text;
  Merger::Workspace merging;
  std::optional<IdCache> cache;  // none until kWorthCache bytes were encoded
  size_t encoded_bytes = 0;
  PendingUnit units[kUnits];
  std::unique_ptr<uint32_t[]> ids;
  size_t room = 0;  // of ids
};

Encoder::Encoder(Model model)
    : model_(checked(std::move(model))),
      normalizer_(make_normalizer(model_)),
      merger_(model_),
      unit_normalizer_(make_unit_normalizer(model_)),
      boundaries_(1 << 16, 0) {
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
  user_symbols_ = PrefixMatcher(std::move(user_defined));
  for (unsigned left = 0; left < 256; ++left) {
    for (unsigned right = 0; right < 256; ++right) {
      const auto l = static_cast<unsigned char>(left), r = static_cast<unsigned char>(right);
      uint8_t& boundary = boundaries_[left << 8 | right];
      if (is_continuation(r) || merger_.joins(l, r)) boundary |= kJoined;
      if (!is_continuation(r) && user_symbols_.may_start(static_cast<char>(r))) boundary |= kMayStart;
    }
  }
  ascii_ids_.fill(kNoSymbol);
  for (uint32_t c = 0; c < 128; ++c) {
    const SymbolId symbol = merger_.symbol_of(c);
    if (symbol < model_.size()) {
      if (model_.types[symbol] != PieceType::unused) ascii_ids_[c] = symbol;
    } else if (!(model_.escape_whitespaces && c == ' ')) {
      ascii_ids_[c] = model_.byte_fallback ? byte_ids_[c] : unknown_;
    }
  }
}

bool Encoder::only_merges(uint32_t id) const {
  const std::string& piece = model_.pieces[id];
  return model_.types[id] == PieceType::normal && !user_symbols_.may_be_in(normalized_piece(model_, id)) &&
         decode_utf8(piece.data(), piece.data() + piece.size()).length < piece.size() &&
         piece.find(' ') == piece.npos && model_.charsmap.empty() && !model_.remove_extra_whitespaces &&
         model_.escape_whitespaces && !model_.treat_whitespace_as_suffix;
}

bool Encoder::is_border(char32_t code) const {
  // The merger and the user symbols know ▁ as a space.
  if (model_.escape_whitespaces && code == kSpaceMark) code = ' ';
  std::string utf8;
  append_utf8(utf8, code);
  return merger_.symbol_of(code) == kNoSymbol && !user_symbols_.may_be_in(utf8);
}

size_t Encoder::unit_end(std::string_view text, size_t at) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const size_t end = text.size();
  for (size_t i = at + 1; i < end; ++i) {
    const uint8_t boundary = boundaries_[static_cast<size_t>(bytes[i - 1]) << 8 | bytes[i]];
    if (boundary == kJoined) continue;
    if (!(boundary & kJoined)) return i;
    if (user_symbols_.match(text.substr(i))) return i;
  }
  return end;
}

// Writes the ids of a unit to `out`. Returns the end of the ids.
uint32_t* Encoder::merge_unit(std::string_view unit, Scratch& scratch, uint32_t* out) const {
  merger_.segment(unit, scratch.merging);
  for (const Segment& s : scratch.merging.segments) put_ids(s, unit, [&](uint32_t id) { *out++ = id; });
  return out;
}

void Encoder::encode_with(std::string_view text, std::vector<uint32_t>& ids, Scratch& scratch) const {
  normalizer_.normalize(text, scratch.text);
  const size_t end = scratch.text.size();
  scratch.text.append(24, '\0');  // so that a key can be read in one step at any offset
  const std::string_view normalized(scratch.text.data(), end);
  // A byte makes at most one token. The exception is a space if ▁ is no piece: it falls back to three bytes.
  const size_t room = end * (model_.escape_whitespaces && ascii_ids_[' '] == kNoSymbol ? 3 : 1) + 4;
  if (scratch.room < room) {
    scratch.ids = std::make_unique_for_overwrite<uint32_t[]>(room);
    scratch.room = room;
  }
  scratch.encoded_bytes += end;
  if (!scratch.cache && scratch.encoded_bytes >= kWorthCache) scratch.cache.emplace();
  IdCache* const cache = scratch.cache ? &*scratch.cache : nullptr;
  const size_t most_cached = cache ? IdCache::kMaxBytes : 0;
  const char* const limit = scratch.text.data() + scratch.text.size();
  uint32_t* const first = scratch.ids.get();
  uint32_t* out = first;
  size_t waiting = 0;
  const auto flush = [&] {
    for (size_t i = 0; i < waiting; ++i) {
      const PendingUnit& unit = scratch.units[i];
      if (unit.id != kNoSymbol) {
        *out++ = unit.id;
        continue;
      }
      uint32_t* const known = unit.length <= most_cached ? cache->find(unit.key, unit.hash, out) : nullptr;
      if (known) [[likely]] {
        out = known;
        continue;
      }
      const std::string_view bytes = normalized.substr(unit.begin, unit.length);
      const auto merge = [&](uint32_t* to) { return merge_unit(bytes, scratch, to); };
      out = cache ? cache->find_or_encode(bytes, limit, out, merge) : merge(out);
    }
    waiting = 0;
  };
  // 32 units wait, so that the processor fetches their cache slots from memory at the same time.
  const auto next_unit = [&]() -> PendingUnit& {
    if (waiting == Scratch::kUnits) flush();
    PendingUnit& unit = scratch.units[waiting++];
    unit.id = kNoSymbol;
    return unit;
  };
  scan_units(
      normalized, [&](size_t, size_t, uint32_t id) { next_unit().id = id; },
      [&](size_t begin, size_t unit_end) {
        PendingUnit& unit = next_unit();
        unit.begin = begin;
        unit.length = unit_end - begin;
        const auto byte = static_cast<unsigned char>(normalized[begin]);
        if (unit.length == 1 && byte < ascii_ids_.size()) unit.id = ascii_ids_[byte];
        if (unit.id == kNoSymbol && unit.length <= most_cached) {
          unit.key = IdCache::Key::from(normalized.data() + begin, unit.length, limit);
          unit.hash = unit.key.hash();
          cache->prefetch(unit.hash);
        }
      });
  flush();
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
  encode_with(text, ids, *scratch);
}

void Encoder::encode_groups(const std::vector<std::string_view>& texts, const std::vector<size_t>& starts,
                            unsigned threads, const TakeBatch& take) const {
  for (const std::string_view text : texts) require_length(text);
  const auto encode_text = [this](std::string_view text, Scratch& scratch, std::vector<uint32_t>& ids) {
    encode_with(text, ids, scratch);
  };
  piecework::encode_groups(texts, starts, threads, scratches_, encode_text, take);
}

std::vector<IdBatch> Encoder::encode_batch(const std::vector<std::string_view>& texts, unsigned threads) const {
  return collect_batches(texts, [&](const std::vector<size_t>& starts, const TakeBatch& take) {
    encode_groups(texts, starts, threads, take);
  });
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
  scan_units(
      normalized, [&](size_t begin, size_t end, uint32_t id) { put(id, begin, end - begin); },
      [&](size_t begin, size_t end) {
        merger_.segment(normalized.substr(begin, end - begin), scratch.merging);
        for (const Segment& s : scratch.merging.segments) put(s.symbol, begin + s.begin, s.length);
      });
  return spans;
}

}  // namespace piecework
