#include "encode/encoder.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "system/threads.hpp"
#include "text/hash.hpp"
#include "text/text_table.hpp"
#include "text/utf8.hpp"

namespace piecework {

namespace {

constexpr size_t kHuge = 1 << 24;  // bytes of a text after which a thread gives its memory back
// Bytes of text from which a thread remembers units. Clearing the memory for it takes as long as merging about so much,
// and most tokenizers that are only saved or looked at never encode more.
constexpr size_t kWorthCache = 1 << 16;

// What SentencePiece asks of a model when it loads one.
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
  ShortKey key;
  uint64_t hash;
  size_t begin, length;
  uint32_t id;  // if it is known already, else kNoSymbol
};

// What one thread needs, kept between calls.
struct Encoder::Scratch {
  struct Cached {
    static constexpr size_t kMaxIds = 9;
    ShortKey key{{0, 0, 0}};  // the empty key is no unit
    uint32_t count = 0;
    uint32_t ids[kMaxIds] = {};
  };
  static_assert(sizeof(Cached) == 64);
  static constexpr size_t kCache = 1 << 17;

  static constexpr size_t kUnits = 32;

  std::string text;
  Merger::Workspace merging;
  HugeArray<Cached> cache;  // empty until kWorthCache bytes were encoded
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

// Writes the ids of one unit to `out`, from the cache or by merging. Returns the end of the ids.
uint32_t* Encoder::put_unit(const PendingUnit& unit, std::string_view bytes, Scratch& scratch, uint32_t* out) const {
  if (unit.length > ShortKey::kMaxLength || scratch.cache.empty()) {
    merger_.segment(bytes, scratch.merging);
    for (const Segment& s : scratch.merging.segments) put_ids(s, bytes, [&](uint32_t id) { *out++ = id; });
    return out;
  }
  // Two slots for each unit, the newer first.
  const size_t index = unit.hash & (Scratch::kCache - 1);
  Scratch::Cached &slot = scratch.cache[index], &older = scratch.cache[index ^ 1];
  const Scratch::Cached* hit = slot.key == unit.key ? &slot : older.key == unit.key ? &older : nullptr;
  if (hit) {
    // Most units have few tokens: four are always copied, without a branch. `out` has room for that.
    std::memcpy(out, hit->ids, 4 * sizeof(uint32_t));
    if (hit->count > 4) [[unlikely]]
      std::memcpy(out + 4, hit->ids + 4, (hit->count - 4) * sizeof(uint32_t));
    return out + hit->count;
  }
  merger_.segment(bytes, scratch.merging);
  uint32_t* const first = out;
  for (const Segment& s : scratch.merging.segments) put_ids(s, bytes, [&](uint32_t id) { *out++ = id; });
  const auto count = static_cast<uint32_t>(out - first);
  if (count <= Scratch::Cached::kMaxIds) {
    older = slot;
    slot.key = unit.key;
    slot.count = count;
    std::copy_n(first, count, slot.ids);
  }
  return out;
}

void Encoder::encode_with(std::string_view text, std::vector<uint32_t>& ids, Scratch& scratch) const {
  normalizer_.normalize(text, scratch.text);
  const size_t end = scratch.text.size();
  scratch.text.append(24, '\0');  // so that a key can be read whole anywhere
  const std::string_view normalized(scratch.text.data(), end);
  // A byte makes at most one token, but for a space where ▁ is no piece: that falls back to three bytes.
  const size_t room = end * (model_.escape_whitespaces && ascii_ids_[' '] == kNoSymbol ? 3 : 1) + 4;
  if (scratch.room < room) {
    scratch.ids = std::make_unique_for_overwrite<uint32_t[]>(room);
    scratch.room = room;
  }
  scratch.encoded_bytes += end;
  if (scratch.cache.empty() && scratch.encoded_bytes >= kWorthCache) scratch.cache = {Scratch::kCache, {}};
  const size_t most_cached = scratch.cache.empty() ? 0 : ShortKey::kMaxLength;
  uint32_t* const first = scratch.ids.get();
  uint32_t* out = first;
  size_t waiting = 0;
  const auto flush = [&] {
    for (size_t i = 0; i < waiting; ++i) {
      const PendingUnit& unit = scratch.units[i];
      if (unit.id != kNoSymbol) {
        *out++ = unit.id;
      } else {
        out = put_unit(unit, normalized.substr(unit.begin, unit.length), scratch, out);
      }
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
          unit.key = ShortKey::from_readable(normalized.data() + begin, unit.length, false);
          unit.hash = unit.key.hash();
          __builtin_prefetch(&scratch.cache[unit.hash & (Scratch::kCache - 1)]);
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
  if (text.size() > UINT32_MAX - 64) throw std::length_error("a text of more than 4 GB cannot be encoded at once");
  ScratchPool<Scratch>::Lease scratch(scratches_);
  encode_with(text, ids, *scratch);
}

std::vector<Encoder::Batch> Encoder::encode_batch(const std::vector<std::string_view>& texts, unsigned threads) const {
  // Groups of about 256 KB, so that threads share the work evenly and results stay in order.
  std::vector<size_t> starts{0};
  size_t bytes = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() > UINT32_MAX - 64)
      throw std::length_error("a text of more than 4 GB cannot be encoded at once");
    bytes += texts[i].size() + 16;
    if (bytes >= 1 << 18 || i + 1 == texts.size()) {
      starts.push_back(i + 1);
      bytes = 0;
    }
  }
  std::vector<Batch> batches(starts.size() - 1);
  if (batches.empty()) return batches;
  std::atomic<size_t> next{0};
  const size_t workers = std::min<size_t>(std::max(threads, 1U), batches.size());
  run_on_threads(workers, [&](size_t) {
    ScratchPool<Scratch>::Lease scratch(scratches_);
    for (size_t group; (group = next.fetch_add(1)) < batches.size();) {
      Batch& batch = batches[group];
      for (size_t i = starts[group]; i < starts[group + 1]; ++i) {
        encode_with(texts[i], batch.ids, *scratch);
        batch.ends.push_back(batch.ids.size());
      }
    }
  });
  return batches;
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
