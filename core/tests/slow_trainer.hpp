// Training as its definition says, slow and obvious: before each merge all pairs of the text are counted again.
//
// Plain training is parity-aware training of one language. Its development text then has no effect.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "text/unicode_scripts.hpp"
#include "text/utf8.hpp"
#include "train/byte_alphabet.hpp"
#include "train/trainer.hpp"

namespace piecework::tests {

inline constexpr uint32_t kBarrier = UINT32_MAX;  // stands for a character that never merges

struct SlowRow {
  std::vector<uint32_t> symbols;
  uint64_t count;
};
using SlowText = std::vector<SlowRow>;

struct SlowLanguage {
  SlowText training, development;
  uint64_t length = 0;  // tokens of the development text
  bool exhausted = false;
};

class SlowTrainer {
 public:
  std::vector<std::string> texts;  // of the symbols
  std::vector<SlowLanguage> languages;
  std::function<bool(const std::string& left, const std::string& right)> may_merge;
  // The order of two pairs of equal frequency.
  std::function<bool(const std::pair<uint32_t, uint32_t>&, const std::pair<uint32_t, uint32_t>&)> before;
  // Whether a pair that spells a symbol becomes that symbol; otherwise it is not merged.
  bool merges_known = false;

  // Stops when `wanted` symbols are added, or before the first merge that is rarer than `least`.
  std::vector<Merge> run(uint64_t wanted, uint64_t least) {
    std::vector<Merge> merges;
    for (uint64_t added = 0; added < wanted;) {
      SlowLanguage* worst = nullptr;
      for (SlowLanguage& language : languages) {
        if (!language.exhausted && (!worst || language.length > worst->length)) worst = &language;
      }
      if (!worst) break;
      const auto [pair, frequency] = best_of(worst->training);
      if (frequency < std::max<uint64_t>(least, 1)) {
        worst->exhausted = true;
        continue;
      }
      std::string piece = texts[pair.first] + texts[pair.second];
      const auto known = std::find(texts.begin(), texts.end(), piece);
      const auto symbol = static_cast<uint32_t>(known - texts.begin());
      if (known == texts.end()) {
        texts.push_back(piece);
        ++added;
      }
      for (SlowLanguage& language : languages) {
        merge(language.training, pair, symbol);
        language.length -= merge(language.development, pair, symbol);
      }
      merges.push_back({std::move(piece), frequency, pair.first, pair.second});
    }
    return merges;
  }

 private:
  using Pair = std::pair<uint32_t, uint32_t>;

  std::pair<Pair, uint64_t> best_of(const SlowText& text) const {
    std::map<Pair, uint64_t> frequencies;
    for (const SlowRow& row : text) {
      for (size_t i = 1; i < row.symbols.size(); ++i) {
        if (row.symbols[i - 1] != kBarrier && row.symbols[i] != kBarrier) {
          frequencies[{row.symbols[i - 1], row.symbols[i]}] += row.count;
        }
      }
    }
    std::pair<Pair, uint64_t> best{{}, 0};
    for (const auto& [pair, frequency] : frequencies) {
      const std::string &left = texts[pair.first], &right = texts[pair.second];
      if (!may_merge(left, right)) continue;
      if (!merges_known && std::find(texts.begin(), texts.end(), left + right) != texts.end()) continue;
      const bool is_better =
          frequency > best.second || (frequency == best.second && frequency && before(pair, best.first));
      if (is_better) best = {pair, frequency};
    }
    return best;
  }

  static uint64_t merge(SlowText& text, const Pair& pair, uint32_t symbol) {
    uint64_t merged = 0;
    for (SlowRow& row : text) {
      for (size_t i = 0; i + 1 < row.symbols.size(); ++i) {
        if (row.symbols[i] != pair.first || row.symbols[i + 1] != pair.second) continue;
        row.symbols[i] = symbol;
        row.symbols.erase(row.symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        merged += row.count;
      }
    }
    return merged;
  }
};

// The rules of words, for options without whitespace pieces and suffixes. The scripts of a piece are compared character
// by character.
class SlowWords {
 public:
  SlowWords(const WordTable& all_words, const TrainingOptions& options)
      : options_(options), alphabet_(all_words, options) {
    for (const Character& c : alphabet_.characters()) append_utf8(trainer.texts.emplace_back(), c.code);
    trainer.may_merge = [this](const std::string& left, const std::string& right) { return is_valid(left + right); };
    trainer.before = [this](const auto& a, const auto& b) {
      const std::string x = trainer.texts[a.first] + trainer.texts[a.second];
      const std::string y = trainer.texts[b.first] + trainer.texts[b.second];
      const size_t x_length = decoded(x).size(), y_length = decoded(y).size();
      if (x_length != y_length) return x_length < y_length;
      return x != y ? x < y : a < b;
    };
  }

  void add(const WordTable& training, const WordTable& development) {
    SlowLanguage language{text_of(training), text_of(development)};
    FormMaker forms(options_);
    for (size_t i = 0; i < development.size(); ++i) {
      const std::u32string form = form_of(forms, development.at(i));
      for (const char32_t c : form) {
        std::string utf8;
        append_utf8(utf8, c);
        const bool is_one = c == options_.boundary || alphabet_.contains(c);
        language.length += (is_one ? 1 : utf8.size()) * development.at(i).count;
      }
    }
    trainer.languages.push_back(std::move(language));
  }

  size_t alphabet_size() const { return alphabet_.characters().size(); }

  SlowTrainer trainer;

 private:
  static std::u32string decoded(std::string_view text) {
    std::u32string out;
    while (!text.empty()) {
      const Decoded c = decode_utf8(text.data(), text.data() + text.size());
      out += c.code;
      text.remove_prefix(c.length);
    }
    return out;
  }

  static std::u32string form_of(FormMaker& forms, const Word& word) {
    const TrainingForm form = forms.form(word);
    std::u32string text = (form.marked ? std::u32string(1, kSpaceMark) : U"") + decoded(form.text);
    std::replace(text.begin(), text.end(), U' ', kSpaceMark);
    return text;
  }

  SlowText text_of(const WordTable& words) const {
    SlowText text;
    FormMaker forms(options_);
    for (size_t i = 0; i < words.size(); ++i) {
      SlowRow row{{}, words.at(i).count};
      for (const char32_t c : form_of(forms, words.at(i))) {
        const bool merges = alphabet_.contains(c) && character_rule(c, options_).merges;
        row.symbols.push_back(merges ? alphabet_.index_of(c) : kBarrier);
      }
      text.push_back(std::move(row));
    }
    return text;
  }

  bool is_valid(const std::string& piece) const {
    std::u32string characters = decoded(piece);
    if (characters.size() > options_.max_sentencepiece_length || characters.rfind(kSpaceMark) + 1 > 1) return false;
    if (!options_.split_by_unicode_script) return true;
    if (characters[0] == kSpaceMark) characters.erase(0, 1);
    uint8_t previous = kAnyScript;
    for (const char32_t c : characters) {
      uint8_t script = character_rule(c, options_).script.first;
      if (script == kInherited) script = previous;
      if (script != previous && script != kAnyScript && previous != kAnyScript) return false;
      previous = script;
    }
    return true;
  }

  TrainingOptions options_;
  Alphabet alphabet_;
};

// The rules of bytes. If `with_parity` is set, pairs have the order of ParityBpeTrainer.
class SlowBytes {
 public:
  SlowBytes(const ByteLevelTrainingOptions& options, bool with_parity) {
    const std::array<char32_t, 256> characters = byte_characters();
    for (unsigned byte = 0; byte < 256; ++byte) append_utf8(characters_[byte], characters[byte]);
    trainer.texts = options.special_tokens;
    std::map<char32_t, unsigned> sorted;
    for (unsigned byte = 0; byte < 256; ++byte) sorted[characters[byte]] = byte;
    for (const auto& [character, byte] : sorted) {
      const auto found = std::find(trainer.texts.begin(), trainer.texts.end(), characters_[byte]);
      if (found == trainer.texts.end()) trainer.texts.push_back(characters_[byte]);
    }
    trainer.merges_known = true;
    trainer.may_merge = [most = options.max_token_length](const std::string& left, const std::string& right) {
      const std::string piece = left + right;
      const auto length = std::count_if(piece.begin(), piece.end(),
                                        [](char c) { return !is_continuation(static_cast<unsigned char>(c)); });
      return !most || length == 2 || length < most;
    };
    trainer.before = [this, with_parity](const auto& a, const auto& b) {
      if (!with_parity) return a < b;
      return std::pair(trainer.texts[a.first], trainer.texts[a.second]) >
             std::pair(trainer.texts[b.first], trainer.texts[b.second]);
    };
  }

  void add(const WordTable& training, const WordTable& development) {
    SlowLanguage language{text_of(training), text_of(development)};
    for (const SlowRow& row : language.development) language.length += row.symbols.size() * row.count;
    trainer.languages.push_back(std::move(language));
  }

  SlowTrainer trainer;

 private:
  SlowText text_of(const WordTable& pre_tokens) const {
    SlowText text;
    for (size_t i = 0; i < pre_tokens.size(); ++i) {
      SlowRow row{{}, pre_tokens.at(i).count};
      for (const char byte : pre_tokens.at(i).bytes) {
        const std::string& character = characters_[static_cast<unsigned char>(byte)];
        const auto found = std::find(trainer.texts.begin(), trainer.texts.end(), character);
        row.symbols.push_back(static_cast<uint32_t>(found - trainer.texts.begin()));
      }
      text.push_back(std::move(row));
    }
    return text;
  }

  std::array<std::string, 256> characters_;
};

}  // namespace piecework::tests
