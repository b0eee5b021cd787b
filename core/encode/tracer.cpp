// Encoding with its steps: the tokens of units for evaluation, and the merges of a text for display.
#include <algorithm>
#include <stdexcept>

#include "encode/encoder.hpp"
#include "text/space_marks.hpp"
#include "text/utf8.hpp"

namespace piecework {

const MergeTrees& Encoder::trees() const {
  std::call_once(growing_, [this] { trees_ = std::make_unique<const MergeTrees>(merger_, model_); });
  return *trees_;
}

PrefixEncoder Encoder::prefix_encoder() const {
  std::call_once(indexing_, [this] { suffixes_ = std::make_unique<const SuffixIndex>(trees()); });
  return {merger_, *trees_, *suffixes_};
}

inline void Encoder::put_traced(const Segment& segment, std::string_view unit, std::vector<TracedToken>& tokens) const {
  const auto [symbol, begin, length] = segment;
  const uint32_t end = begin + length;
  if (symbol < model_.size() && model_.types[symbol] == PieceType::normal) {
    tokens.push_back({symbol, begin, end, unit[begin] == ' '});
  } else {
    put_special(segment, unit, tokens);
  }
}

void Encoder::trace(std::string_view unit, PrefixEncoder& prefixes, std::vector<TracedToken>& tokens) const {
  tokens.clear();
  const auto put = [&](const Segment& segment) { put_traced(segment, unit, tokens); };
  const PrefixMatcher& symbols = units_.user_symbols();
  if (!symbols.may_be_in(unit)) return prefixes.encode(unit, 0, put);
  // Cuts at user symbols only.
  for (size_t at = 0, end; at < unit.size(); at = end) {
    if (const size_t length = symbols.match(unit.substr(at))) {
      end = at + length;
      put({*user_symbol(unit.substr(at, length)), static_cast<uint32_t>(at), static_cast<uint32_t>(length)});
      continue;
    }
    for (end = at + 1; end < unit.size() && !symbols.match(unit.substr(end));) ++end;
    prefixes.encode(unit.substr(at, end - at), static_cast<uint32_t>(at), put);
  }
}

void Encoder::put_special(const Segment& segment, std::string_view unit, std::vector<TracedToken>& tokens) const {
  const uint32_t symbol = segment.symbol, begin = segment.begin, length = segment.length;
  const uint32_t end = begin + length;
  if (symbol < model_.size()) {
    if (model_.types[symbol] == PieceType::unused && (*trees_)[symbol].left != kNoSymbol) {
      // An unused piece takes part in merging, and is split again at the end.
      const MergeTrees::Node& node = (*trees_)[symbol];
      const uint32_t left = (*trees_)[node.left].length;
      put_traced({node.left, begin, left}, unit, tokens);
      put_traced({node.right, begin + left, length - left}, unit, tokens);
    } else {
      tokens.push_back({symbol, begin, end, unit[begin] == ' ' && model_.types[symbol] != PieceType::control});
    }
  } else if (model_.byte_fallback) {
    put_ids(segment, unit, [&](uint32_t id) { tokens.push_back({id, begin, end, false}); });
  } else if (!tokens.empty() && tokens.back().id == unknown_ && tokens.back().end == begin) {
    tokens.back().end = end;  // without byte fallback, adjacent unknown characters are one token
  } else {
    tokens.push_back({unknown_, begin, end, false});
  }
}

std::vector<TextMerge> Encoder::merges(std::string_view text) const {
  if (text.size() > UINT32_MAX - 64) throw std::length_error("a text of more than 4 GB cannot be encoded at once");
  std::string normalized;
  std::vector<size_t> origins;
  normalizer_.normalize(text, normalized, &origins);
  std::vector<size_t> ends(normalized.size(), 0);  // the end of the symbol at each first byte; 0 for a character
  std::vector<TextMerge> merges;
  std::vector<MergeEvent> events;
  Merger::Workspace workspace;
  const std::string_view view = normalized;
  uint32_t unit = 0;
  units_.for_each(view, [&](size_t unit_begin, size_t unit_end) {
    const std::string_view text_of_unit = view.substr(unit_begin, unit_end - unit_begin);
    events.clear();
    if (!user_symbol(text_of_unit)) merger_.segment(text_of_unit, workspace, &events);
    for (const MergeEvent& event : events) {
      const size_t begin = unit_begin + event.begin, end = unit_begin + event.end;
      size_t middle = ends[begin];
      if (!middle) middle = begin + decode_utf8(view.data() + begin, view.data() + view.size()).length;
      ends[begin] = end;
      const auto origin = [&](size_t byte) { return static_cast<uint32_t>(origins[byte]); };
      merges.push_back({event.piece, unit, origin(begin), origin(middle), origin(end)});
    }
    ++unit;
  });
  return merges;
}

size_t Encoder::count_tokens(std::string_view normalized) const {
  std::vector<TracedToken> tokens;
  PrefixEncoder prefixes = prefix_encoder();
  trace(normalized, prefixes, tokens);
  return tokens.size();
}

void Encoder::normalize_unit(std::string_view unit, bool opens, std::string& out) const {
  unit_normalizer_.normalize(unit, out);
  if (has_space_mark(out)) {
    if (model_.remove_extra_whitespaces && out.ends_with(kSpaceMarkUtf8)) {
      if (!is_open(unit)) {
        throw ModelError("its normalisation leaves a ▁ at the end of \"" + std::string(unit) +
                         "\", which stays or goes with the text after it");
      }
      // The text ends here, and spaces at its end are removed.
      while (!out.empty() && (out.back() == ' ' || out.ends_with(kSpaceMarkUtf8))) {
        out.resize(out.size() - (out.back() == ' ' ? 1 : kSpaceMarkUtf8.size()));
      }
    }
    out = replace_marks(out);
  }
  if (out.empty()) return;
  // Without extra whitespace exactly one space separates two units.
  const bool space_before = model_.remove_extra_whitespaces || (opens && model_.add_dummy_prefix);
  const bool ends_in_space = unit.back() == ' ' || unit.ends_with(kSpaceMarkUtf8);
  if (out.back() == ' ' && !ends_in_space && merger_.joins(' ', ' ')) {
    throw ModelError("its normalisation makes a space at the end of \"" + std::string(unit) +
                     "\", which can merge with the spaces after it, and it keeps extra whitespace");
  }
  if (space_before) out.insert(out.begin(), ' ');
}

void Encoder::require_independent_units() const {
  if (model_.treat_whitespace_as_suffix) {
    throw ModelError("it puts whitespace after words (treat_whitespace_as_suffix), and counted units have it before");
  }
  if (!model_.escape_whitespaces) {
    throw ModelError("it does not escape whitespace (escape_whitespaces = false), so units are not independent");
  }
  if (model_.remove_extra_whitespaces && !model_.add_dummy_prefix) {
    throw ModelError(
        "it removes whitespace at the start of a text and adds no prefix, so the first word of a text is not known");
  }
  if (!model_.byte_fallback && merger_.symbol_of(' ') >= model_.size()) {
    throw ModelError("it has no piece for a space, so unknown words side by side are one token");
  }
  if (normalizer_.has_rule_for_spaces()) {
    throw ModelError("a normalisation rule replaces text with a space in it, so it can reach across units");
  }
  for (const auto& [symbol, id] : user_symbol_ids_) {
    if (symbol.find(' ', model_.remove_extra_whitespaces ? 0 : 1) != symbol.npos) {
      throw ModelError("the user-defined symbol \"" + model_.pieces[id] +
                       "\" reaches across a space, so units are not independent");
    }
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (byte != ' ' && merger_.joins(static_cast<unsigned char>(byte), ' ')) {
      throw ModelError("it has pieces that reach across a space, so units are not independent");
    }
  }
}

bool Encoder::newlines_stand_alone() const {
  // Normalisation can change a newline.
  if (normalizes()) return false;
  // Without byte fallback, adjacent unknown characters are one token.
  if (!model_.byte_fallback && merger_.symbol_of('\n') >= model_.size()) return false;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto other = static_cast<unsigned char>(byte);
    if (other != '\n' && (merger_.joins(other, '\n') || merger_.joins('\n', other))) return false;
  }
  return std::all_of(user_symbol_ids_.begin(), user_symbol_ids_.end(), [](const auto& symbol) {
    return symbol.first.find('\n') == std::string::npos || symbol.first.find_first_not_of('\n') == std::string::npos;
  });
}

}  // namespace piecework
