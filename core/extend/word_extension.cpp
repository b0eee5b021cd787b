// Extends a SentencePiece vocabulary.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "extend/extension.hpp"
#include "extend/symbol_rows.hpp"
#include "text/utf8.hpp"
#include "train/chunk_text.hpp"
#include "train/guessed_training.hpp"

namespace piecework {
namespace {

constexpr size_t kCheckpoint = 1 << 14;

template <class Use>
void for_each_character(std::string_view text, Use&& use) {
  for (const char *p = text.data(), *last = p + text.size(); p < last;) {
    const Decoded c = decode_utf8(p, last);
    use(c.code == ' ' ? kSpaceMark : c.code, static_cast<size_t>(p - text.data()));
    p += c.length;
  }
}

struct VocabularySymbol {
  InitialSymbol symbol;
  bool merges = true;  // the rules allow pieces with this symbol
};

VocabularySymbol symbol_of(const std::string& text, const TrainingOptions& options) {
  VocabularySymbol out{{text, 0, {}, false, true}};
  InitialSymbol& symbol = out.symbol;
  for_each_character(text, [&](char32_t code, size_t) {
    const auto [merges, script] = character_rule(code, options);
    const bool is_mark = code == kSpaceMark;
    out.merges &= merges && (symbol.length == 0 || share_script(symbol.script, script));
    out.merges &= !(is_mark && symbol.length && !symbol.all_marks);  // ▁ only at the start
    symbol.script = symbol.length ? joined(symbol.script, script) : script;
    symbol.has_mark |= is_mark;
    symbol.all_marks &= is_mark;
    ++symbol.length;
  });
  return out;
}

// The pieces that merges never make, split into two parts in every possible way.
ForbiddenPieces forbidden_pieces(const Encoder& encoder) {
  const Model& model = encoder.model();
  ForbiddenPieces forbidden;
  for (uint32_t id = 0; id < model.size(); ++id) {
    const bool takes_part = model.types[id] == PieceType::normal || model.types[id] == PieceType::unused;
    if (!takes_part || encoder.trees()[id].time != MergeTrees::kNever) continue;
    const std::string_view piece = model.pieces[id];
    std::vector<size_t> starts;
    for_each_character(piece, [&](char32_t, size_t at) { starts.push_back(at); });
    for (size_t i = 1; i < starts.size(); ++i) {
      forbidden.add_split(piece, starts[i]);
      // A character merges whether it is a piece or not.
      if (i == 1) forbidden.forbid(piece.substr(starts[1]));
      if (i + 1 == starts.size()) forbidden.forbid(piece.substr(0, starts[i]));
    }
  }
  return forbidden;
}

// Encodes words with the old pieces, as rows of symbols.
class WordEncoder {
 public:
  WordEncoder(const Encoder& encoder, const TrainingOptions& options, const std::vector<VocabularySymbol>& symbols,
              std::unordered_map<char32_t, uint32_t> new_characters)
      : encoder_(encoder),
        options_(options),
        symbols_(symbols),
        new_characters_(std::move(new_characters)),
        forms_(options),
        prefixes_(encoder.prefix_encoder()) {}

  void add(const Word& word) {
    const TrainingForm form = forms_.form(word);
    part_.assign(form.marked ? " " : "");
    for_each_character(form.text, [&](char32_t code, size_t) {
      if (code == options_.boundary) {
        add_part(word.count);
        part_.clear();
      } else if (code == kSpaceMark) {
        part_ += ' ';
      } else {
        append_utf8(part_, code);
      }
    });
    add_part(word.count);
  }
  const WordTable& finish() { return rows_.finish(); }

 private:
  void add_part(uint64_t count) {
    if (part_.empty()) return;
    encoder_.trace(part_, prefixes_, tokens_);
    const Model& model = encoder_.model();
    uint32_t done = 0;  // bytes of the part that are in rows already
    for (const TracedToken& token : tokens_) {
      const PieceType type = model.types[token.id];
      if (type == PieceType::normal) {
        put(token.id, count);
      } else if (type != PieceType::unknown && type != PieceType::byte) {
        rows_.end_row(count);
      } else if (token.end > done) {  // all bytes of a character have the range of the character
        const std::string_view text = std::string_view(part_).substr(token.begin, token.end - token.begin);
        for_each_character(text, [&](char32_t code, size_t) {
          const auto found = new_characters_.find(code);
          if (found == new_characters_.end()) {
            rows_.end_row(count);
          } else {
            put(found->second, count);
          }
        });
      }
      done = std::max(done, token.end);
    }
    rows_.end_row(count);
  }
  void put(uint32_t symbol, uint64_t count) {
    if (symbols_[symbol].merges) {
      rows_.add(symbol);
    } else {
      rows_.end_row(count);
    }
  }

  const Encoder& encoder_;
  const TrainingOptions& options_;
  const std::vector<VocabularySymbol>& symbols_;
  const std::unordered_map<char32_t, uint32_t> new_characters_;
  FormMaker forms_;
  PrefixEncoder prefixes_;
  std::string part_;
  std::vector<TracedToken> tokens_;
  SymbolRows rows_;
};

}  // namespace

Extension extend_bpe(const Encoder& encoder, const WordTable& words, const TrainingOptions& options, uint64_t wanted,
                     uint64_t minimum_frequency, const Progress& progress) {
  const Checkpoint checkpoint = checkpoint_of(progress);
  const Model& model = encoder.model();
  std::unordered_set<std::string_view, HashBytes, std::equal_to<>> pieces(model.pieces.begin(), model.pieces.end());
  std::vector<VocabularySymbol> symbols;
  for (const std::string& piece : model.pieces) symbols.push_back(symbol_of(piece, options));
  Extension result;
  std::unordered_map<char32_t, uint32_t> new_characters;
  const Alphabet alphabet(words, options, checkpoint);
  for (const Character& c : alphabet.characters()) {
    if (result.characters.size() == wanted) break;
    std::string utf8;
    append_utf8(utf8, c.code);
    if (!c.count || pieces.contains(utf8)) continue;
    new_characters.emplace(c.code, static_cast<uint32_t>(symbols.size()));
    symbols.push_back(symbol_of(utf8, options));
    result.characters.push_back(c);
  }
  wanted -= result.characters.size();
  if (!wanted) return result;

  WordEncoder rows(encoder, options, symbols, std::move(new_characters));
  const std::vector<uint32_t> order = words.sorted();  // words that start alike are encoded together
  for (size_t i = 0; i < order.size(); ++i) {
    if (i % kCheckpoint == 0) checkpoint();
    const Word word = words.at(order[i]);
    if (word.count) rows.add(word);
  }
  const WordTable& table = rows.finish();
  MergeRule rule;
  rule.extends = true;
  rule.forbidden = forbidden_pieces(encoder);
  rule.max_length = options.max_sentencepiece_length;
  rule.split_by_whitespace = options.split_by_whitespace;
  rule.allow_whitespace_only_pieces = options.allow_whitespace_only_pieces;
  std::vector<InitialSymbol> initial;
  std::vector<uint32_t> lengths;
  for (VocabularySymbol& each : symbols) {
    lengths.push_back(each.symbol.length);
    initial.push_back(std::move(each.symbol));
  }
  const auto make_text = [&] { return std::pair(ChunkText(table, lengths), table.total()); };
  result.merges =
      run_with_guess(make_text, initial, rule, wanted, std::max<uint64_t>(minimum_frequency, 1), progress, checkpoint);
  return result;
}

}  // namespace piecework
