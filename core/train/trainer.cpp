// A priority queue of upper bounds. Once both symbols of a pair exist, its frequency can only fall. So a pair is
// counted again only when it reaches the top of the queue, and returns to the queue if its frequency has fallen.
// Nothing else is updated. Most pairs never reach the top; other trainers spend most of their time on them.
#include "train/trainer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>
#include <utility>

#include "text/hash.hpp"
#include "text/unicode_scripts.hpp"
#include "text/utf8.hpp"
#include "train/auto_coverage.hpp"
#include "train/byte_alphabet.hpp"
#include "train/chunk_text.hpp"

namespace piecework {
namespace {

// A character or a merged piece.
struct Symbol {
  uint64_t text_offset;  // of its UTF-8 in Trainer::texts_
  uint32_t text_bytes;
  uint32_t length;       // in characters
  uint32_t changed = 0;  // the last merge that consumed one of its occurrences
  ScriptSpan script;
  bool has_mark, all_marks;  // whether some character, every character is ▁
};

// Two symbols that are, or were, next to each other.
struct Pair {
  uint32_t left, right;
  uint64_t first;      // index of its first position in Trainer::positions_
  uint32_t positions;  // number of positions; some may be out of date until the pair is counted again
  uint32_t counted;    // the merge after which `frequency` was exact
  uint64_t frequency;  // exact after the merge `counted`, then an upper bound
};

// What a symbol is before any merge.
struct InitialSymbol {
  std::string text;
  uint32_t length;  // in characters
  ScriptSpan script;
  bool is_mark = false;  // it is ▁
};

// What tells byte-level training from SentencePiece's.
struct MergeRule {
  // Of pairs with equal frequencies SentencePiece takes the one of fewer characters, then the smaller string;
  // byte-level training takes the smaller ids.
  bool ties_by_ids = false;
  // A longer pair is never merged. Byte-level training lets pairs of two bytes pass whatever the limit.
  uint32_t max_length = UINT32_MAX;
  bool limits_first_pairs = true;
  // A string that is a symbol already: SentencePiece does not merge the pair, byte-level training merges it into that
  // symbol. docs/exactness.md shows that the symbol is then a special token that has not occurred before, so the
  // frequency of a pair still only falls.
  bool merges_known_strings = false;
  // Where a piece of SentencePiece may have ▁.
  bool split_by_whitespace = true;
  bool allow_whitespace_only_pieces = false;
  bool treat_whitespace_as_suffix = false;
};

// A pair with what decides the order of merges: frequency, then what the rule says.
struct Candidate {
  uint64_t frequency;
  // The first sixteen bytes of the string, the first byte highest; or the two ids.
  std::array<uint64_t, 2> prefix;
  uint32_t length;
  uint32_t pair;
};

class Trainer {
 public:
  Trainer(ChunkText text, const std::vector<InitialSymbol>& alphabet, const MergeRule& rule, uint64_t least_frequency,
          Checkpoint checkpoint);
  // Pairs below `least_frequency` are forgotten at once, so the caller must make sure that they are not needed.
  std::vector<Merge> run(uint64_t wanted, uint64_t minimum_frequency, const Progress& progress);
  // Whether the last run made as many symbols as wanted.
  bool is_complete() const { return complete_; }

 private:
  static constexpr uint32_t kAhead = 16;            // positions to prefetch ahead of the current one
  static constexpr uint32_t kCheckpoint = 1 << 18;  // positions between two checkpoints
  static constexpr uint64_t kLevels = 1 << 16;      // each frequency below this has its own unsorted list

  std::string_view text_of(uint32_t symbol) const {
    return {&texts_[symbols_[symbol].text_offset], symbols_[symbol].text_bytes};
  }
  std::string text_of(const Pair& pair) const { return std::string(text_of(pair.left)).append(text_of(pair.right)); }
  uint32_t length_of(const Pair& pair) const { return symbols_[pair.left].length + symbols_[pair.right].length; }
  // What the order of merges asks about: nothing where ids decide.
  uint32_t ordering_length(const Pair& pair) const { return rule_.ties_by_ids ? 0 : length_of(pair); }
  uint32_t add_symbol(std::string_view text, uint32_t length, ScriptSpan script, bool has_mark, bool all_marks);
  bool mergeable(uint32_t left, uint32_t right) const;
  bool marks_allow(const Symbol& left, const Symbol& right) const;
  void find_first_pairs();
  void count_again(Pair& pair);
  bool is_exact(const Pair& pair) const {
    return std::max(symbols_[pair.left].changed, symbols_[pair.right].changed) <= pair.counted;
  }
  void wait(uint32_t pair);
  bool refill();
  bool next(Candidate& best);
  void apply(const Pair& pair, uint32_t symbol);
  void compact();

  bool before(const Candidate& a, const Candidate& b) const;
  void push(uint32_t pair);

  ChunkText text_;
  const MergeRule rule_;
  const uint64_t least_frequency_;
  const Checkpoint checkpoint_;
  std::vector<Symbol> symbols_;
  std::string texts_;
  std::vector<Pair> pairs_;
  std::vector<uint32_t> positions_;  // the positions of all pairs: one rising list per pair, one after another
  uint64_t live_positions_ = 0;
  uint32_t merges_ = 0;
  bool complete_ = false;

  std::vector<Candidate> heap_;
  std::vector<std::vector<uint32_t>> waiting_;  // pairs by frequency, up to `level_`
  int64_t level_ = kLevels - 1;
  // Pairs of frequency `level_` + 1 and of at least `next_length_` characters, by length. All other pairs of that
  // frequency are in the heap. A merge makes only longer pairs, so all pairs of a length are known when it is taken,
  // and the heap stays small.
  std::vector<std::vector<uint32_t>> by_length_;
  size_t next_length_ = 0;

  // State of the current merge: the new pairs by their other symbol, and their occurrences.
  struct NewPair {
    uint32_t other;
    bool other_is_left;
    uint32_t positions = 0;
    uint64_t frequency = 0;
    uint64_t first = 0;
  };
  struct PairSlot {
    uint32_t merge = 0;  // `index` is valid for this merge only
    uint32_t index = 0;
  };
  struct Occurrence {
    uint32_t index;
    uint32_t position;
  };
  static constexpr uint32_t kNotMergeable = UINT32_MAX;
  uint32_t new_pair(uint32_t other, bool other_is_left, uint32_t symbol);
  std::vector<PairSlot> left_slots_, right_slots_;
  std::vector<NewPair> new_pairs_;
  std::vector<Occurrence> occurrences_;
};

Trainer::Trainer(ChunkText text, const std::vector<InitialSymbol>& alphabet, const MergeRule& rule,
                 uint64_t least_frequency, Checkpoint checkpoint)
    : text_(std::move(text)),
      rule_(rule),
      least_frequency_(least_frequency),
      checkpoint_(std::move(checkpoint)),
      waiting_(kLevels) {
  for (const InitialSymbol& symbol : alphabet) {
    add_symbol(symbol.text, symbol.length, symbol.script, symbol.is_mark, symbol.is_mark);
  }
  find_first_pairs();
}

uint32_t Trainer::add_symbol(std::string_view text, uint32_t length, ScriptSpan script, bool has_mark, bool all_marks) {
  symbols_.push_back({texts_.size(), static_cast<uint32_t>(text.size()), length, 0, script, has_mark, all_marks});
  texts_.append(text);
  left_slots_.emplace_back();
  right_slots_.emplace_back();
  return static_cast<uint32_t>(symbols_.size() - 1);
}

bool Trainer::mergeable(uint32_t left, uint32_t right) const {
  const Symbol &l = symbols_[left], &r = symbols_[right];
  const uint64_t length = uint64_t{l.length} + r.length;
  if (length > rule_.max_length && (length > 2 || rule_.limits_first_pairs)) return false;
  if ((l.has_mark || r.has_mark) && !marks_allow(l, r)) return false;
  return l.script.last == kAnyScript || r.script.first == kInherited || r.script.first == kAnyScript ||
         l.script.last == r.script.first;
}

// Where a piece may have ▁. Split at whitespace: only at its start, or with treat_whitespace_as_suffix only at its end.
// Not split: anywhere but at its end, or with treat_whitespace_as_suffix at its start. Pieces of ▁ alone are an option.
bool Trainer::marks_allow(const Symbol& left, const Symbol& right) const {
  if (left.all_marks && right.all_marks) return rule_.allow_whitespace_only_pieces;
  const Symbol& outer = rule_.treat_whitespace_as_suffix ? right : left;  // it has the ▁ at the right place
  const Symbol& inner = rule_.treat_whitespace_as_suffix ? left : right;
  if (rule_.split_by_whitespace) return !inner.has_mark && !(outer.all_marks && outer.length > 1);
  return !inner.all_marks;
}

void Trainer::find_first_pairs() {
  std::unordered_map<uint64_t, uint32_t> rare;
  constexpr uint32_t kDense = 512;  // pairs of the most frequent characters need no hash table
  std::vector<uint32_t> dense(kDense * kDense, UINT32_MAX);
  auto index_of = [&](uint32_t left, uint32_t right) -> uint32_t& {
    if (left < kDense && right < kDense) return dense[left * kDense + right];
    return rare.try_emplace(static_cast<uint64_t>(left) << 32 | right, UINT32_MAX).first->second;
  };
  for (uint32_t p = 1; p + 1 < text_.size(); ++p) {
    if (p % kCheckpoint == 0) checkpoint_();
    const uint32_t left = text_[p], right = text_[p + 1];
    if (left >= ChunkText::kBack || right >= ChunkText::kBack) continue;
    uint32_t& index = index_of(left, right);
    if (index == UINT32_MAX) {
      index = static_cast<uint32_t>(pairs_.size());
      pairs_.push_back({left, right, 0, 0, 0, 0});
    }
    pairs_[index].frequency += text_.count_at(p);
    ++pairs_[index].positions;
  }
  uint64_t total = 0;
  for (Pair& pair : pairs_) {
    if (pair.frequency < least_frequency_ || !mergeable(pair.left, pair.right)) pair.positions = 0;
    pair.first = total;
    total += pair.positions;
  }
  positions_.resize(total);
  live_positions_ = total;
  std::vector<uint64_t> next(pairs_.size());
  for (size_t i = 0; i < pairs_.size(); ++i) next[i] = pairs_[i].first;
  for (uint32_t p = 1; p + 1 < text_.size(); ++p) {
    if (p % kCheckpoint == 0) checkpoint_();
    const uint32_t left = text_[p], right = text_[p + 1];
    if (left >= ChunkText::kBack || right >= ChunkText::kBack) continue;
    const uint32_t index = index_of(left, right);
    if (pairs_[index].positions) positions_[next[index]++] = p;
  }
  for (uint32_t i = 0; i < pairs_.size(); ++i) {
    if (pairs_[i].positions) wait(i);
  }
}

// Removes the positions where the pair no longer is, and adds up the counts of the others. Overlapping occurrences all
// count.
void Trainer::count_again(Pair& pair) {
  const uint32_t offset = symbols_[pair.left].length;
  uint32_t* const first = &positions_[pair.first];
  uint32_t* kept = first;
  uint64_t frequency = 0;
  for (const uint32_t *p = first, *last = first + pair.positions; p < last; ++p) {
    if (p + kAhead < last) text_.prefetch(p[kAhead]);
    if (text_[*p] == pair.left && text_[*p + offset] == pair.right) {
      frequency += text_.count_at(*p);
      *kept++ = *p;
    }
  }
  const auto n = static_cast<uint32_t>(kept - first);
  live_positions_ -= pair.positions - n;
  pair.positions = n;
  pair.frequency = frequency;
  pair.counted = merges_;
}

void Trainer::wait(uint32_t pair) {
  const uint64_t frequency = pairs_[pair].frequency;
  const size_t length = ordering_length(pairs_[pair]);
  if (frequency < least_frequency_) {
    live_positions_ -= pairs_[pair].positions;
    pairs_[pair].positions = 0;
  } else if (frequency <= static_cast<uint64_t>(level_) && level_ >= 0) {
    waiting_[frequency].push_back(pair);
  } else if (frequency == static_cast<uint64_t>(level_ + 1) && length >= next_length_) {
    if (length >= by_length_.size()) by_length_.resize(length + 1);
    by_length_[length].push_back(pair);
  } else {
    push(pair);
  }
}

bool Trainer::before(const Candidate& a, const Candidate& b) const {
  if (a.frequency != b.frequency) return a.frequency > b.frequency;
  if (a.length != b.length) return a.length < b.length;
  if (a.prefix != b.prefix) return a.prefix < b.prefix;
  if (a.pair == b.pair) return false;
  const Pair &x = pairs_[a.pair], &y = pairs_[b.pair];
  const int order = text_of(x).compare(text_of(y));
  return order ? order < 0 : std::pair(x.left, x.right) < std::pair(y.left, y.right);
}

void Trainer::push(uint32_t pair) {
  const Pair& p = pairs_[pair];
  std::array<uint64_t, 2> prefix{p.left, p.right};
  if (!rule_.ties_by_ids) {
    unsigned char bytes[16] = {};
    const std::string_view left = text_of(p.left), right = text_of(p.right);
    const size_t left_bytes = left.copy(reinterpret_cast<char*>(bytes), sizeof bytes);
    right.copy(reinterpret_cast<char*>(bytes) + left_bytes, sizeof bytes - left_bytes);
    for (size_t i = 0; i < sizeof bytes; ++i) prefix[i / 8] = prefix[i / 8] << 8 | bytes[i];
  }
  heap_.push_back({p.frequency, prefix, ordering_length(p), pair});
  std::push_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return before(b, a); });
}

// Fills the empty heap with the pairs of the next frequency and length; false if there are none.
bool Trainer::refill() {
  const auto take = [&](std::vector<uint32_t> pairs, int64_t frequency, auto&& keep) {
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (i % (kCheckpoint / 64) == 0) checkpoint_();
      Pair& pair = pairs_[pairs[i]];
      if (!is_exact(pair)) count_again(pair);
      if (pair.frequency == static_cast<uint64_t>(frequency)) {
        keep(pairs[i]);
      } else {
        wait(pairs[i]);
      }
    }
  };
  while (heap_.empty()) {
    if (next_length_ < by_length_.size()) {
      take(std::exchange(by_length_[next_length_++], {}), level_ + 1, [&](uint32_t pair) { push(pair); });
    } else if (level_ >= 0) {
      const int64_t frequency = level_--;
      if (waiting_[static_cast<size_t>(frequency)].empty()) continue;
      next_length_ = 0;
      take(std::exchange(waiting_[static_cast<size_t>(frequency)], {}), frequency, [&](uint32_t pair) { wait(pair); });
    } else {
      return false;
    }
  }
  return true;
}

// Finds the best candidate, with its exact frequency; false if there is none.
bool Trainer::next(Candidate& best) {
  while (!heap_.empty() || refill()) {
    best = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return before(b, a); });
    heap_.pop_back();
    if (is_exact(pairs_[best.pair])) return true;
    count_again(pairs_[best.pair]);
    if (pairs_[best.pair].frequency == best.frequency) return true;
    wait(best.pair);
  }
  return false;
}

uint32_t Trainer::new_pair(uint32_t other, bool other_is_left, uint32_t symbol) {
  PairSlot& slot = (other_is_left ? left_slots_ : right_slots_)[other];
  if (slot.merge != merges_) {
    slot.merge = merges_;
    const bool good = other_is_left ? mergeable(other, symbol) : mergeable(symbol, other);
    slot.index = good ? static_cast<uint32_t>(new_pairs_.size()) : kNotMergeable;
    if (good) new_pairs_.push_back({other, other_is_left});
  }
  return slot.index;
}

// Merges from left to right. Each occurrence makes a new pair on its left and on its right. The next occurrence may
// remove one of them again. Such pairs are kept with a frequency of 0, as in SentencePiece.
void Trainer::apply(const Pair& pair, uint32_t symbol) {
  const uint32_t left = pair.left, right = pair.right;
  const uint32_t left_length = symbols_[left].length, length = symbols_[symbol].length;
  new_pairs_.clear();
  occurrences_.clear();
  // The new pair (symbol, left): the only one that this merge may remove again.
  uint32_t removable = kNotMergeable;
  for (uint64_t i = pair.first; i < pair.first + pair.positions; ++i) {
    if (i % kCheckpoint == 0) checkpoint_();
    if (i + kAhead < positions_.size()) text_.prefetch(positions_[i + kAhead]);
    const uint32_t p = positions_[i];
    if (text_[p] != left || text_[p + left_length] != right) continue;
    const uint64_t count = text_.count_at(p);
    const uint32_t start = text_.before(p);
    const uint32_t after = text_[p + length];
    text_.merge(p, left_length, length, symbol);
    if (start != ChunkText::kNoPosition) {
      const uint32_t index = new_pair(text_[start], true, symbol);
      if (index != kNotMergeable) {
        new_pairs_[index].frequency += count;
        ++new_pairs_[index].positions;
        occurrences_.push_back({index, start});
      }
    }
    if (after != ChunkText::kSeparator) {
      const uint32_t index = new_pair(after, false, symbol);
      if (index != kNotMergeable) {
        if (after == left) removable = index;
        new_pairs_[index].frequency += count;
        ++new_pairs_[index].positions;
        occurrences_.push_back({index, p});
      }
    }
  }
  if (removable != kNotMergeable) {
    for (Occurrence& o : occurrences_) {
      if (o.index == removable && text_[o.position + length] != left) {
        new_pairs_[removable].frequency -= text_.count_at(o.position);
        --new_pairs_[removable].positions;
        o.index = kNotMergeable;
      }
    }
  }
  uint64_t total = positions_.size();
  for (NewPair& n : new_pairs_) {
    n.first = total;
    if (n.frequency >= least_frequency_) total += n.positions;
  }
  live_positions_ += total - positions_.size();
  if (total > positions_.capacity()) positions_.reserve(total + total / 4);  // doubling would waste more memory
  positions_.resize(total);
  for (NewPair& n : new_pairs_) {
    if (n.frequency < least_frequency_) continue;
    const uint32_t l = n.other_is_left ? n.other : symbol, r = n.other_is_left ? symbol : n.other;
    pairs_.push_back({l, r, n.first, n.positions, merges_, n.frequency});
    wait(static_cast<uint32_t>(pairs_.size() - 1));
  }
  for (const Occurrence& o : occurrences_) {
    if (o.index != kNotMergeable && new_pairs_[o.index].frequency >= least_frequency_) {
      positions_[new_pairs_[o.index].first++] = o.position;
    }
  }
}

// Removes the gaps between the lists of positions. The lists are in the order of their pairs, so one pass is enough.
void Trainer::compact() {
  uint64_t to = 0;
  for (Pair& pair : pairs_) {
    std::copy_n(positions_.begin() + static_cast<int64_t>(pair.first), pair.positions,
                positions_.begin() + static_cast<int64_t>(to));
    pair.first = to;
    to += pair.positions;
  }
  positions_.resize(to);
  positions_.shrink_to_fit();
}

std::vector<Merge> Trainer::run(uint64_t wanted, uint64_t minimum_frequency, const Progress& progress) {
  std::vector<Merge> merges;
  std::unordered_map<std::string, uint32_t, HashBytes, std::equal_to<>> known;  // strings that are symbols
  known.reserve(std::min<uint64_t>(wanted, 1 << 20));
  const auto first_merged = static_cast<uint32_t>(symbols_.size());
  if (rule_.merges_known_strings) {
    for (uint32_t symbol = 0; symbol < first_merged; ++symbol) known.emplace(text_of(symbol), symbol);
  }
  uint64_t added = 0;
  Candidate best;
  while (added < wanted && next(best) && best.frequency >= minimum_frequency) {
    if (progress) progress(added, wanted);
    Pair pair = pairs_[best.pair];
    std::string piece = text_of(pair);
    const auto [entry, is_new] = known.try_emplace(piece, static_cast<uint32_t>(symbols_.size()));
    // Two pairs can make the same string ("aa"+"a", "a"+"aa"). SentencePiece merges only the first.
    if (is_new || rule_.merges_known_strings) {
      const uint32_t symbol = entry->second;
      if (!is_new && symbol >= first_merged) throw std::logic_error("training made the same string twice: " + piece);
      ++merges_;
      if (is_new) {
        const ScriptSpan l = symbols_[pair.left].script, r = symbols_[pair.right].script;
        const ScriptSpan script{l.first != kInherited ? l.first : r.first, r.first != kInherited ? r.last : l.last};
        const Symbol &left = symbols_[pair.left], &right = symbols_[pair.right];
        const bool has_mark = left.has_mark || right.has_mark, all_marks = left.all_marks && right.all_marks;
        add_symbol(piece, length_of(pair), script, has_mark, all_marks);
        ++added;
      }
      symbols_[pair.left].changed = symbols_[pair.right].changed = merges_;
      apply(pair, symbol);
      merges.push_back({std::move(piece), best.frequency, pair.left, pair.right});
    }
    live_positions_ -= pair.positions;
    pairs_[best.pair].positions = 0;
    if (positions_.size() > 2 * live_positions_ + (1 << 20)) compact();
  }
  if (progress) progress(added, wanted);
  complete_ = added == wanted;
  return merges;
}

// Most pairs are rare, and rare pairs are seldom needed. So pairs below a guessed frequency are forgotten. If the guess
// was too high (the vocabulary is large for the text), training runs again without it. The result is the same.
// `make_text` gives the text and the sum of its counts.
template <class MakeText>
std::vector<Merge> run_with_guess(MakeText&& make_text, const std::vector<InitialSymbol>& alphabet,
                                  const MergeRule& rule, uint64_t wanted, uint64_t minimum_frequency,
                                  const Progress& progress, const Checkpoint& checkpoint) {
  std::vector<Merge> merges;
  for (const bool guessing : {true, false}) {
    auto [text, total] = make_text();
    const uint64_t guess = guessing ? total / wanted / 32 : 0;
    Trainer trainer(std::move(text), alphabet, rule, std::max(minimum_frequency, guess), checkpoint);
    merges = trainer.run(wanted, minimum_frequency, progress);
    if (trainer.is_complete() || guess <= minimum_frequency) break;
  }
  return merges;
}

Checkpoint checkpoint_of(const Progress& progress) {
  return [&progress] {
    if (progress) progress(0, UINT64_MAX);
  };
}

}  // namespace

TrainingResult train_bpe(const WordTable& words, const TrainingOptions& options, uint64_t vocab_size,
                         uint64_t minimum_frequency, const Progress& progress) {
  const Checkpoint checkpoint = checkpoint_of(progress);
  const Alphabet alphabet(words, options, checkpoint);
  TrainingResult result;
  result.characters = alphabet.characters();
  result.character_count = alphabet.total();
  const bool selects = options.auto_character_coverage;
  const uint64_t taken = options.meta_pieces.size() + (selects ? 0 : alphabet.characters().size());
  if (taken >= vocab_size) return result;
  std::vector<InitialSymbol> symbols;
  for (uint32_t index = 0; index < alphabet.characters().size(); ++index) {
    std::string utf8;
    append_utf8(utf8, alphabet.characters()[index].code);
    const bool is_mark = utf8 == kSpaceMarkUtf8;
    symbols.push_back({std::move(utf8), 1, alphabet.script_span(index), is_mark});
  }
  MergeRule rule;
  rule.max_length = options.max_sentencepiece_length;
  rule.split_by_whitespace = options.split_by_whitespace;
  rule.allow_whitespace_only_pieces = options.allow_whitespace_only_pieces;
  rule.treat_whitespace_as_suffix = options.treat_whitespace_as_suffix;
  const auto make_text = [&] {
    const WordTable chunks = split_into_chunks(words, alphabet, options, checkpoint);
    return std::pair(ChunkText(chunks, alphabet), chunks.total());
  };
  const uint64_t wanted = vocab_size - taken;
  result.merges = run_with_guess(make_text, symbols, rule, wanted, minimum_frequency, progress, checkpoint);
  if (selects) select_characters(result, wanted);
  return result;
}

ByteLevelTrainingResult train_byte_level_bpe(const WordTable& pre_tokens, const ByteLevelTrainingOptions& options,
                                             uint64_t vocab_size, const Progress& progress) {
  const Checkpoint checkpoint = checkpoint_of(progress);
  ByteAlphabet alphabet(options.special_tokens);
  std::vector<InitialSymbol> symbols;
  for (const std::string& text : alphabet.symbols) {
    const auto continuations =
        std::count_if(text.begin(), text.end(), [](char c) { return is_continuation(static_cast<unsigned char>(c)); });
    symbols.push_back({text, static_cast<uint32_t>(text.size() - static_cast<size_t>(continuations)), {}});
  }
  ByteLevelTrainingResult result{{}, std::move(alphabet.symbols)};
  if (result.alphabet.size() >= vocab_size) return result;
  MergeRule rule;
  rule.ties_by_ids = rule.merges_known_strings = true;
  rule.limits_first_pairs = false;
  // Hugging Face compares with <.
  if (options.max_token_length) rule.max_length = options.max_token_length - 1;
  const auto make_text = [&] { return std::pair(ChunkText(pre_tokens, alphabet.byte_symbols), pre_tokens.total()); };
  result.merges = run_with_guess(make_text, symbols, rule, vocab_size - result.alphabet.size(),
                                 std::max<uint64_t>(options.min_frequency, 1), progress, checkpoint);
  return result;
}

}  // namespace piecework
