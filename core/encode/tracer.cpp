// Encoding with a record of how it came about: of one unit for evaluation, of a text for a person to see.
#include <algorithm>
#include <stdexcept>

#include "encode/encoder.hpp"
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
  uint32_t begin = 0;
  for (uint32_t at = symbols_.may_be_in(unit) ? 0 : static_cast<uint32_t>(unit.size()); at < unit.size(); ++at) {
    const auto length = static_cast<uint32_t>(symbols_.match(unit.substr(at)));
    if (!length) continue;
    prefixes.encode(unit.substr(begin, at - begin), begin, put);
    put({symbol_ids_.find(unit.substr(at, length))->second, at, length});
    begin = at + length;
    at = begin - 1;
  }
  prefixes.encode(unit.substr(begin), begin, put);
}

void Encoder::put_special(const Segment& segment, std::string_view unit, std::vector<TracedToken>& tokens) const {
  const uint32_t symbol = segment.symbol, begin = segment.begin, length = segment.length;
  const uint32_t end = begin + length;
  if (symbol < model_.size()) {
    if (model_.types[symbol] == PieceType::unused && (*trees_)[symbol].left != kNoSymbol) {
      // It takes part in merging, but is taken apart again.
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
    tokens.back().end = end;  // without byte fallback, a run of unknown characters is one token
  } else {
    tokens.push_back({unknown_, begin, end, false});
  }
}

std::vector<TextMerge> Encoder::merges(std::string_view text) const {
  if (text.size() > UINT32_MAX - 64) throw std::length_error("a text of more than 4 GB cannot be encoded at once");
  std::string normalized;
  std::vector<size_t> origins;
  normalizer_.normalize(text, normalized, &origins);
  std::vector<size_t> ends(normalized.size(), 0);  // of the symbol that starts at a byte; 0 where it is a character
  std::vector<TextMerge> merges;
  std::vector<MergeEvent> events;
  Merger::Workspace workspace;
  const std::string_view view = normalized;
  uint32_t unit = 0;
  for (size_t at = 0; at < view.size(); ++unit) {
    if (const size_t length = symbols_.match(view.substr(at))) {
      at += length;
      continue;
    }
    const size_t next = unit_end(view, at);
    events.clear();
    merger_.segment(view.substr(at, next - at), workspace, &events);
    for (const MergeEvent& event : events) {
      const size_t begin = at + event.begin, end = at + event.end;
      size_t middle = ends[begin];
      if (!middle) middle = begin + decode_utf8(view.data() + begin, view.data() + view.size()).length;
      ends[begin] = end;
      const auto place = [&](size_t byte) { return static_cast<uint32_t>(origins[byte]); };
      merges.push_back({event.piece, unit, place(begin), place(middle), place(end)});
    }
    at = next;
  }
  return merges;
}

size_t Encoder::count_tokens(std::string_view normalized) const {
  std::vector<TracedToken> tokens;
  PrefixEncoder prefixes = prefix_encoder();
  trace(normalized, prefixes, tokens);
  return tokens.size();
}

void Encoder::require_independent_units() const {
  if (!model_.charsmap.empty() || model_.remove_extra_whitespaces || model_.treat_whitespace_as_suffix ||
      !model_.escape_whitespaces) {
    throw ModelError(
        "the model normalises text or treats whitespace in its own way, so counted units do not tell its ids");
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (byte != ' ' && merger_.joins(static_cast<unsigned char>(byte), ' ')) {
      throw ModelError("the model has pieces that reach across a space, so counted units do not tell its ids");
    }
  }
  for (const auto& [symbol, id] : symbol_ids_) {
    if (symbol.find(' ', 1) != symbol.npos) {
      throw ModelError("the user-defined symbol \"" + model_.pieces[id] +
                       "\" reaches across a space, so counted units do not tell its ids");
    }
  }
}

bool Encoder::newlines_stand_alone() const {
  // Without bytes, unknown characters side by side are one token.
  if (!model_.byte_fallback && merger_.symbol_of('\n') >= model_.size()) return false;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto other = static_cast<unsigned char>(byte);
    if (other != '\n' && (merger_.joins(other, '\n') || merger_.joins('\n', other))) return false;
  }
  return std::all_of(symbol_ids_.begin(), symbol_ids_.end(), [](const auto& symbol) {
    return symbol.first.find('\n') == std::string::npos || symbol.first.find_first_not_of('\n') == std::string::npos;
  });
}

}  // namespace piecework
