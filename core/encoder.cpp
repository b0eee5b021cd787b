#include "encoder.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <exception>
#include <thread>
#include <unordered_set>
#include <utility>

#include "hash.hpp"
#include "utf8.hpp"

namespace piecework {

// A symbol during merging; `next` and `previous` are indices, kNoNode at the ends.
struct Encoder::Node {
  SymbolId symbol;
  uint32_t begin, length;
  uint32_t previous, next;
  uint32_t left = UINT32_MAX, right = UINT32_MAX;  // what an unused piece was merged from, in Scratch::parts
};

namespace {
constexpr uint32_t kNoNode = UINT32_MAX;
constexpr size_t kHuge = 1 << 24;
constexpr size_t kFew = 40;  // up to here a scan for the best pair beats a heap

// Orders scores as SentencePiece's comparison of bit patterns does: -0.0 below +0.0.
int64_t score_key(float score) {
  const auto bits = std::bit_cast<int32_t>(score);
  return bits < 0 ? -static_cast<int64_t>(bits & 0x7FFFFFFF) - 1 : bits;
}
}  // namespace

// A stretch of text that is encoded on its own.
struct Encoder::Unit {
  ShortKey key;
  uint64_t hash;
  size_t begin, length;
  uint32_t id;  // where it is known at once, else kNoSymbol
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

  struct Candidate {
    uint32_t rank, left, right;
    SymbolId left_symbol, right_symbol;
  };
  static constexpr size_t kUnits = 32;

  std::string text;
  std::vector<Node> nodes, parts;
  std::vector<Candidate> heap;
  std::vector<Segment> segments;
  HugeArray<Cached> cache{kCache, {}};
  Unit units[kUnits];
  std::unique_ptr<uint32_t[]> ids;
  size_t room = 0;  // of ids
};

class Encoder::ScratchLease {
 public:
  explicit ScratchLease(const Encoder& encoder) : encoder_(encoder) {
    const std::lock_guard lock(encoder.mutex_);
    if (!encoder.idle_.empty()) {
      scratch_ = std::move(encoder.idle_.back());
      encoder.idle_.pop_back();
    }
    if (!scratch_) scratch_ = std::make_unique<Scratch>();
  }
  ~ScratchLease() {
    const std::lock_guard lock(encoder_.mutex_);
    encoder_.idle_.push_back(std::move(scratch_));
  }
  Scratch& operator*() { return *scratch_; }

 private:
  const Encoder& encoder_;
  std::unique_ptr<Scratch> scratch_;
};

Encoder::Encoder(Model model)
    : model_(std::move(model)), normalizer_(model_), filter_(kFilterMask + 1, 0), boundaries_(1 << 16, 0) {
  check();
  build_symbols();
}

Encoder::~Encoder() = default;

void Encoder::check() const {
  if (model_.pieces.empty()) throw ModelError("the model has no pieces");
  std::unordered_set<std::string_view> seen;
  size_t unknown = 0, bytes = 0;
  for (size_t id = 0; id < model_.size(); ++id) {
    const std::string& piece = model_.pieces[id];
    const std::string where = "piece " + std::to_string(id);
    if (piece.empty()) throw ModelError(where + " is empty");
    if (find_invalid_utf8(piece) != piece.size()) throw ModelError(where + " is not valid UTF-8");
    if (!seen.insert(piece).second) throw ModelError(where + " (\"" + piece + "\") is in the vocabulary twice");
    unknown += model_.types[id] == PieceType::unknown;
    bytes += model_.types[id] == PieceType::byte;
  }
  if (unknown != 1) throw ModelError("the model must have one unknown piece; it has " + std::to_string(unknown));
  if (model_.byte_fallback && bytes != 256) {
    throw ModelError("the model falls back to bytes but has " + std::to_string(bytes) + " of 256 byte pieces");
  }
}

// Pieces as they stand in normalised text, where a plain space stands for ▁.
void Encoder::build_symbols() {
  std::vector<std::string> texts(model_.size());
  std::vector<std::string> user_defined;
  ascii_symbols_.fill(kNoSymbol);
  ascii_ids_.fill(kNoSymbol);
  for (uint32_t id = 0; id < model_.size(); ++id) {
    std::string text = model_.pieces[id];
    const PieceType type = model_.types[id];
    if (type == PieceType::unknown) unknown_ = id;
    if (type == PieceType::unused) has_unused_ = true;
    if (type == PieceType::byte) {
      unsigned value = 256;
      if (text.size() == 6) value = static_cast<unsigned>(std::strtoul(text.substr(3, 2).c_str(), nullptr, 16));
      if (value > 255) throw ModelError("byte piece \"" + text + "\" is not of the form <0xNN>");
      byte_ids_[value] = id;
      continue;
    }
    if (type == PieceType::unknown) continue;
    if (model_.escape_whitespaces) {
      if (text.find(' ') != text.npos) continue;  // normalised text has no space: never found
      size_t at = 0;
      while ((at = text.find(kSpaceMarkUtf8, at)) != text.npos) text.replace(at, kSpaceMarkUtf8.size(), 1, ' ');
    }
    const Decoded first = decode_utf8(text.data(), text.data() + text.size());
    if (first.length == text.size()) {
      if (first.code < 128) {
        ascii_symbols_[first.code] = id;
      } else {
        other_symbols_[first.code] = id;
      }
    }
    if (type == PieceType::user_defined) {
      user_defined.push_back(text);
      symbol_ids_[text] = id;
    }
    if (model_.is_mergeable(id)) texts[id] = std::move(text);
  }
  symbols_ = PrefixMatcher(std::move(user_defined));
  build_rules(texts);

  for (int left = 0; left < 256; ++left) {
    for (int right = 0; right < 256; ++right) {
      uint8_t& boundary = boundaries_[static_cast<size_t>(left << 8 | right)];
      if (is_continuation(static_cast<unsigned char>(right))) {
        boundary = kJoined;
      } else if (symbols_.may_start(static_cast<char>(right))) {
        boundary |= kMayStart;
      }
    }
  }
  for (uint32_t c = 0; c < 128; ++c) {
    const SymbolId symbol = ascii_symbols_[c];
    if (symbol < model_.size()) {
      if (model_.types[symbol] != PieceType::unused) ascii_ids_[c] = symbol;
    } else if (!(model_.escape_whitespaces && c == ' ')) {
      ascii_ids_[c] = model_.byte_fallback ? byte_ids_[c] : unknown_;
    }
  }
}

// SentencePiece looks up the concatenation of two neighbours as a string. The same, with numbers: a rule for each way
// to cut a piece into two symbols.
void Encoder::build_rules(const std::vector<std::string>& texts) {
  std::unordered_map<std::string_view, SymbolId, HashBytes, std::equal_to<>> by_text;
  by_text.reserve(texts.size() * 2);
  std::vector<int64_t> keys;
  for (uint32_t id = 0; id < texts.size(); ++id) {
    if (texts[id].empty()) continue;
    by_text.emplace(texts[id], id);
    keys.push_back(score_key(model_.scores[id]));
  }
  std::sort(keys.begin(), keys.end(), std::greater<>());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());

  // Characters that are no piece themselves can still be half of one.
  auto next_symbol = static_cast<SymbolId>(model_.size());
  auto half = [&](std::string_view text) -> SymbolId {
    if (const auto found = by_text.find(text); found != by_text.end()) return found->second;
    const Decoded c = decode_utf8(text.data(), text.data() + text.size());
    if (c.length != text.size()) return kNoSymbol;
    SymbolId& symbol =
        c.code < 128 ? ascii_symbols_[c.code] : other_symbols_.try_emplace(c.code, kNoSymbol).first->second;
    if (symbol == kNoSymbol) symbol = next_symbol++;
    return symbol;
  };
  for (uint32_t id = 0; id < texts.size(); ++id) {
    const std::string& text = texts[id];
    if (text.empty()) continue;
    const int64_t key = score_key(model_.scores[id]);
    const auto rank =
        static_cast<uint32_t>(std::lower_bound(keys.begin(), keys.end(), key, std::greater<>()) - keys.begin());
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if (is_continuation(static_cast<unsigned char>(text[cut]))) continue;
      boundaries_[static_cast<size_t>(static_cast<unsigned char>(text[cut - 1]) << 8 |
                                      static_cast<unsigned char>(text[cut]))] |= kJoined;
      const SymbolId left = half(std::string_view(text).substr(0, cut));
      if (left == kNoSymbol) continue;
      const SymbolId right = half(std::string_view(text).substr(cut));
      if (right != kNoSymbol) add_rule(left, right, rank, id);
    }
  }
}

Encoder::SymbolId Encoder::symbol_of(char32_t code) const {
  if (code < 128) return ascii_symbols_[code];
  const auto found = other_symbols_.find(code);
  return found == other_symbols_.end() ? kNoSymbol : found->second;
}

const Encoder::MergeRule* Encoder::find_rule(SymbolId left, SymbolId right) const {
  if (left == kNoSymbol || rules_.empty()) return nullptr;  // two of kNoSymbol would look like an empty place
  const uint64_t pair = static_cast<uint64_t>(left) << 32 | right;
  const uint64_t hash = hash_pair(left, right);
  // Most pairs have no rule, and this says so from memory that is near.
  if (!(filter_[hash >> 40 & kFilterMask] >> (hash >> 60) & 1)) return nullptr;
  for (uint64_t at = hash & rule_mask_;; at = (at + 1) & rule_mask_) {
    const MergeRule& rule = rules_[at];
    if (rule.pair == pair) return &rule;
    if (rule.pair == kEmptyPair) return nullptr;
  }
}

void Encoder::add_rule(SymbolId left, SymbolId right, uint32_t rank, SymbolId merged) {
  if (rule_count_ * 3 >= rules_.size() * 2) grow_rules();
  uint64_t at = hash_pair(left, right) & rule_mask_;
  while (rules_[at].pair != kEmptyPair) at = (at + 1) & rule_mask_;
  rules_[at] = {static_cast<uint64_t>(left) << 32 | right, rank, merged};
  const uint64_t hash = hash_pair(left, right);
  filter_[hash >> 40 & kFilterMask] |= static_cast<uint16_t>(1U << (hash >> 60));
  ++rule_count_;
}

void Encoder::grow_rules() {
  const HugeArray<MergeRule> old = std::exchange(rules_, {std::max<size_t>(1024, rules_.size() * 2), MergeRule{}});
  rule_mask_ = rules_.size() - 1;
  for (const MergeRule& rule : old) {
    if (rule.pair == kEmptyPair) continue;
    uint64_t at = hash_pair(rule.pair >> 32, rule.pair & UINT32_MAX) & rule_mask_;
    while (rules_[at].pair != kEmptyPair) at = (at + 1) & rule_mask_;
    rules_[at] = rule;
  }
}

size_t Encoder::unit_end(std::string_view text, size_t at) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const size_t end = text.size();
  for (size_t i = at + 1; i < end; ++i) {
    const uint8_t boundary = boundaries_[static_cast<size_t>(bytes[i - 1]) << 8 | bytes[i]];
    if (boundary == kJoined) continue;
    if (!(boundary & kJoined)) return i;
    if (symbols_.match(text.substr(i))) return i;
  }
  return end;
}

// Cuts one unit into tokens: characters first, then always the best pair, the leftmost of equals.
void Encoder::segment(std::string_view unit, Scratch& scratch) const {
  scratch.segments.clear();
  if (unit.size() <= kFew && !has_unused_) {
    merge_few(unit, scratch);
    return;
  }
  scratch.nodes.clear();
  scratch.parts.clear();
  for (size_t at = 0; at < unit.size();) {
    const Decoded c = decode_utf8(unit.data() + at, unit.data() + unit.size());
    const auto index = static_cast<uint32_t>(scratch.nodes.size());
    scratch.nodes.push_back({symbol_of(c.code), static_cast<uint32_t>(at), c.length, index - 1, index + 1});
    at += c.length;
  }
  scratch.nodes.front().previous = kNoNode;
  scratch.nodes.back().next = kNoNode;
  merge_many(scratch);
  for (uint32_t i = 0; i != kNoNode; i = scratch.nodes[i].next) put_segment(scratch.nodes[i], scratch);
}

// For short units: plain arrays, a scan for the best pair, and the arrays close up after each merge.
void Encoder::merge_few(std::string_view unit, Scratch& scratch) const {
  SymbolId symbols[kFew + 1], merged[kFew + 1];
  uint32_t begins[kFew + 1], ranks[kFew + 1];
  size_t n = 0;
  for (size_t at = 0; at < unit.size(); ++n) {
    const Decoded c = decode_utf8(unit.data() + at, unit.data() + unit.size());
    symbols[n] = symbol_of(c.code);
    begins[n] = static_cast<uint32_t>(at);
    at += c.length;
  }
  begins[n] = static_cast<uint32_t>(unit.size());
  const auto look_up = [&](size_t i) {
    const MergeRule* rule = find_rule(symbols[i], symbols[i + 1]);
    ranks[i] = rule ? rule->rank : kNoRank;
    if (rule) merged[i] = rule->merged;
  };
  for (size_t i = 0; i + 1 < n; ++i) look_up(i);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i) best = ranks[i] < ranks[best] ? i : best;
    if (ranks[best] == kNoRank) break;
    symbols[best] = merged[best];
    --n;
    for (size_t i = best + 1; i < n; ++i) {
      symbols[i] = symbols[i + 1];
      merged[i] = merged[i + 1];
      ranks[i] = ranks[i + 1];
      begins[i] = begins[i + 1];
    }
    begins[n] = static_cast<uint32_t>(unit.size());
    if (best + 1 < n) look_up(best);
    if (best > 0) look_up(best - 1);
  }
  for (size_t i = 0; i < n; ++i) scratch.segments.push_back({symbols[i], begins[i], begins[i + 1] - begins[i]});
}

void Encoder::merge_many(Scratch& scratch) const {
  std::vector<Node>& nodes = scratch.nodes;
  auto& heap = scratch.heap;
  const auto later = [](const Scratch::Candidate& a, const Scratch::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  };
  const auto candidate = [&](uint32_t left, uint32_t right) {
    const MergeRule* rule = find_rule(nodes[left].symbol, nodes[right].symbol);
    if (!rule) return false;
    heap.push_back({rule->rank, left, right, nodes[left].symbol, nodes[right].symbol});
    return true;
  };
  heap.clear();
  for (uint32_t i = 0; i + 1 < nodes.size(); ++i) candidate(i, i + 1);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    const Scratch::Candidate top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    Node &left = nodes[top.left], &right = nodes[top.right];
    if (left.length == 0 || right.length == 0 || left.next != top.right || left.symbol != top.left_symbol ||
        right.symbol != top.right_symbol) {
      continue;
    }
    if (has_unused_) {
      const auto parts = static_cast<uint32_t>(scratch.parts.size());
      scratch.parts.push_back(left);
      scratch.parts.push_back(right);
      left.left = parts;
      left.right = parts + 1;
    }
    left.symbol = find_rule(left.symbol, right.symbol)->merged;
    left.length += right.length;
    left.next = right.next;
    right.length = 0;
    if (left.next != kNoNode) nodes[left.next].previous = top.left;
    if (left.previous != kNoNode && candidate(left.previous, top.left)) std::push_heap(heap.begin(), heap.end(), later);
    if (left.next != kNoNode && candidate(top.left, left.next)) std::push_heap(heap.begin(), heap.end(), later);
  }
}

// A piece that may not be used takes part in merging and is taken apart again at the end.
void Encoder::put_segment(const Node& node, Scratch& scratch) const {
  std::vector<Node> stack{node};
  while (!stack.empty()) {
    const Node top = stack.back();
    stack.pop_back();
    if (top.symbol < model_.size() && model_.types[top.symbol] == PieceType::unused && top.left != UINT32_MAX) {
      stack.push_back(scratch.parts[top.right]);
      stack.push_back(scratch.parts[top.left]);
    } else {
      scratch.segments.push_back({top.symbol, top.begin, top.length});
    }
  }
}

template <class Put>
void Encoder::put_ids(const Segment& segment, std::string_view unit, Put&& put) const {
  if (segment.symbol < model_.size()) {
    put(segment.symbol);
  } else if (!model_.byte_fallback) {
    put(unknown_);
  } else {
    for (const char c : unit.substr(segment.begin, segment.length)) {
      if (c == ' ' && model_.escape_whitespaces) {
        for (const char byte : kSpaceMarkUtf8) put(byte_ids_[static_cast<unsigned char>(byte)]);
      } else {
        put(byte_ids_[static_cast<unsigned char>(c)]);
      }
    }
  }
}

// The ids of one unit, from the cache or by merging, to `out`; gives back where they end.
uint32_t* Encoder::put_unit(const Unit& unit, std::string_view bytes, Scratch& scratch, uint32_t* out) const {
  if (unit.length > ShortKey::kMaxLength) {
    segment(bytes, scratch);
    for (const Segment& s : scratch.segments) put_ids(s, bytes, [&](uint32_t id) { *out++ = id; });
    return out;
  }
  // Two places for each unit, the newer first.
  const size_t index = unit.hash & (Scratch::kCache - 1);
  Scratch::Cached &place = scratch.cache[index], &other = scratch.cache[index ^ 1];
  const Scratch::Cached* hit = place.key == unit.key ? &place : other.key == unit.key ? &other : nullptr;
  if (hit) {
    // Most units have few tokens: four are copied always, without asking. `out` has room for that.
    std::memcpy(out, hit->ids, 4 * sizeof(uint32_t));
    if (hit->count > 4) [[unlikely]]
      std::memcpy(out + 4, hit->ids + 4, (hit->count - 4) * sizeof(uint32_t));
    return out + hit->count;
  }
  segment(bytes, scratch);
  uint32_t* const first = out;
  for (const Segment& s : scratch.segments) put_ids(s, bytes, [&](uint32_t id) { *out++ = id; });
  const auto count = static_cast<uint32_t>(out - first);
  if (count <= Scratch::Cached::kMaxIds) {
    other = place;
    place.key = unit.key;
    place.count = count;
    std::copy_n(first, count, place.ids);
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
  uint32_t* const first = scratch.ids.get();
  uint32_t* out = first;
  size_t waiting = 0;
  const auto flush = [&] {
    for (size_t i = 0; i < waiting; ++i) {
      const Unit& unit = scratch.units[i];
      if (unit.id != kNoSymbol) {
        *out++ = unit.id;
      } else {
        out = put_unit(unit, normalized.substr(unit.begin, unit.length), scratch, out);
      }
    }
    waiting = 0;
  };
  // Units wait until there are 32, so that their places in the cache are on their way from memory together.
  for (size_t at = 0; at < end;) {
    Unit& unit = scratch.units[waiting++];
    unit.id = kNoSymbol;
    const size_t symbol = symbols_.may_start(normalized[at]) ? symbols_.match(normalized.substr(at)) : 0;
    if (symbol) {
      unit.id = symbol_ids_.find(normalized.substr(at, symbol))->second;
      at += symbol;
    } else {
      const size_t next = unit_end(normalized, at);
      unit.begin = at;
      unit.length = next - at;
      if (unit.length == 1) unit.id = ascii_ids_[static_cast<unsigned char>(normalized[at])];
      if (unit.id == kNoSymbol && unit.length <= ShortKey::kMaxLength) {
        unit.key = ShortKey::from_readable(normalized.data() + at, unit.length, false);
        unit.hash = unit.key.hash();
        __builtin_prefetch(&scratch.cache[unit.hash & (Scratch::kCache - 1)]);
      }
      at = next;
    }
    if (waiting == Scratch::kUnits) flush();
  }
  flush();
  if (!model_.byte_fallback) {
    // A run of unknown characters is one token.
    out = std::unique(first, out, [this](uint32_t a, uint32_t b) { return a == unknown_ && b == unknown_; });
  }
  ids.insert(ids.end(), first, out);
  if (end > kHuge) {  // one huge text does not hold memory for ever
    scratch.text = {};
    scratch.ids.reset();
    scratch.room = 0;
  }
}

void Encoder::encode(std::string_view text, std::vector<uint32_t>& ids) const {
  if (text.size() > UINT32_MAX - 64) throw std::length_error("a text of more than 4 GB cannot be encoded at once");
  ScratchLease scratch(*this);
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
  std::atomic<size_t> next{0};
  auto work = [&] {
    ScratchLease scratch(*this);
    for (size_t group; (group = next.fetch_add(1)) < batches.size();) {
      Batch& batch = batches[group];
      for (size_t i = starts[group]; i < starts[group + 1]; ++i) {
        encode_with(texts[i], batch.ids, *scratch);
        batch.ends.push_back(batch.ids.size());
      }
    }
  };
  const size_t workers = std::min<size_t>(std::max(threads, 1U), batches.size());
  if (workers <= 1) {
    work();
    return batches;
  }
  std::vector<std::exception_ptr> failures(workers);
  std::vector<std::thread> pool;
  for (size_t t = 0; t < workers; ++t) {
    pool.emplace_back([&, t] {
      try {
        work();
      } catch (...) {
        failures[t] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return batches;
}

std::vector<TokenSpan> Encoder::encode_spans(std::string_view text) const {
  ScratchLease lease(*this);
  Scratch& scratch = *lease;
  std::vector<size_t> origins;
  normalizer_.normalize(text, scratch.text, &origins);
  const std::string_view normalized = scratch.text;
  std::vector<TokenSpan> spans;
  const auto shown = [&](std::string_view part) {
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
    const std::string part = shown(normalized.substr(begin, length));
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
  for (size_t at = 0; at < normalized.size();) {
    if (const size_t length = symbols_.match(normalized.substr(at))) {
      put(symbol_ids_.find(normalized.substr(at, length))->second, at, length);
      at += length;
      continue;
    }
    const size_t next = unit_end(normalized, at);
    segment(normalized.substr(at, next - at), scratch);
    for (const Segment& s : scratch.segments) put(s.symbol, at + s.begin, s.length);
    at = next;
  }
  return spans;
}

std::string Encoder::decode(const std::vector<uint32_t>& ids) const {
  std::string text, bytes;
  const auto put_bytes = [&] {
    uint64_t replaced = 0;
    text += replace_invalid_utf8(bytes, replaced);
    bytes.clear();
  };
  const bool strips = model_.add_dummy_prefix || model_.remove_extra_whitespaces;
  bool at_start = true, stripped = false;
  for (const uint32_t id : ids) {
    if (id >= model_.size()) {
      throw std::out_of_range("id " + std::to_string(id) + " is not in the vocabulary of " +
                              std::to_string(model_.size()) + " pieces");
    }
    const PieceType type = model_.types[id];
    if (type == PieceType::byte) {
      bytes += static_cast<char>(std::strtoul(model_.pieces[id].substr(3, 2).c_str(), nullptr, 16));
      continue;
    }
    put_bytes();
    if (stripped || !text.empty()) at_start = false;
    stripped = false;
    if (type == PieceType::control) continue;
    if (type == PieceType::unknown) {
      text += model_.unknown_surface;
      continue;
    }
    std::string_view piece = model_.pieces[id];
    if (at_start && strips && piece.starts_with(kSpaceMarkUtf8)) {
      piece.remove_prefix(kSpaceMarkUtf8.size());
      // Where extra whitespace is removed all leading spaces go, else only the one that encoding added.
      stripped = !model_.remove_extra_whitespaces;
    }
    while (!piece.empty()) {
      const size_t mark = piece.find(kSpaceMarkUtf8);
      text += piece.substr(0, mark);
      if (mark == piece.npos) break;
      text += ' ';
      piece.remove_prefix(mark + kSpaceMarkUtf8.size());
    }
  }
  put_bytes();
  return text;
}

}  // namespace piecework
