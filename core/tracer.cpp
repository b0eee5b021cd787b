// Encoding with a record of how it came about: of one unit for evaluation, of a text for a person to see.
#include <algorithm>
#include <stdexcept>

#include "encoder.hpp"
#include "utf8.hpp"

namespace piecework {

void Encoder::cut(std::string_view unit, std::vector<TracePart>& parts, MergeBatch& batch) const {
  for (size_t at = 0; at < unit.size();) {
    const auto begin = static_cast<uint32_t>(at);
    const size_t length = symbols_.match(unit.substr(at));
    at = length > 0 ? at + length : unit_end(unit, at);
    parts.push_back(
        {begin, static_cast<uint32_t>(at), length > 0 ? kNoSymbol : static_cast<uint32_t>(batch.units.size())});
    if (length == 0) batch.units.push_back(unit.substr(begin, at - begin));
  }
}

void Encoder::trace(std::string_view unit, std::span<const TracePart> parts, const MergeBatch& batch, Trace& trace,
                    const std::vector<uint32_t>* merge_numbers) const {
  trace.tokens.clear();
  trace.merges.clear();
  trace.whole.clear();
  trace.text_tokens = 0;
  const size_t spaces = std::min(unit.find_first_not_of(' '), unit.size());
  bool after_unknown = false;  // without byte fallback, a run of unknown characters is one token
  const auto put = [&](SymbolId symbol, uint32_t begin, uint32_t end) {
    const bool known = symbol < model_.size();
    if (known) {
      trace.tokens.push_back({symbol, begin, end, unit[begin] == ' ' && model_.types[symbol] != PieceType::control});
    } else if (model_.byte_fallback) {
      put_ids({symbol, begin, end - begin}, unit,
              [&](uint32_t id) { trace.tokens.push_back({id, begin, end, false}); });
    } else if (after_unknown) {
      trace.tokens.back().end = end;
    } else {
      trace.tokens.push_back({unknown_, begin, end, false});
    }
    after_unknown = !known;
  };
  for (const TracePart& part : parts) {
    if (part.merged == kNoSymbol) {
      put(symbol_ids_.find(unit.substr(part.begin, part.end - part.begin))->second, part.begin, part.end);
      trace.whole.push_back({part.begin, part.end});
      ++trace.text_tokens;
      continue;
    }
    const MergeBatch::Result& result = batch.results[part.merged];
    for (uint32_t i = result.segment; i < result.segment_end; ++i) {
      const Segment& s = batch.segments[i];
      put(s.symbol, part.begin + s.begin, part.begin + s.begin + s.length);
    }
    if (!merge_numbers) continue;
    uint32_t highest = 0;
    for (uint32_t i = result.event; i < result.event_end; ++i) {
      const MergeEvent& event = batch.events[i];
      const uint32_t number = (*merge_numbers)[event.piece];
      if (number == kNoSymbol) continue;
      highest = std::max(highest, number);
      trace.merges.push_back({highest, part.begin + event.begin, part.begin + event.end});
    }
  }
  if (!merge_numbers) return;
  // Before any merge: a token a character, several where it falls back to bytes, one for a run of unknown ones.
  bool unknown_run = false;
  for (size_t at = spaces; at < unit.size();) {
    if (const size_t length = symbols_.match(unit.substr(at))) {
      at += length;
      unknown_run = false;
      continue;
    }
    const Decoded c = decode_utf8(unit.data() + at, unit.data() + unit.size());
    const auto begin = static_cast<uint32_t>(at), end = static_cast<uint32_t>(at + c.length);
    at = end;
    const bool known = merger_.symbol_of(c.code) < model_.size();
    if (known || (model_.byte_fallback && c.length == 1)) {
      ++trace.text_tokens;
      trace.whole.push_back({begin, end});
    } else if (model_.byte_fallback) {
      trace.text_tokens += c.length;
    } else if (unknown_run) {
      trace.whole.back().end = end;
    } else {
      ++trace.text_tokens;
      trace.whole.push_back({begin, end});
    }
    unknown_run = !known && !model_.byte_fallback;
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
  std::vector<TracePart> parts;
  MergeBatch batch;
  Merger::Workspace workspace;
  Trace result;
  cut(normalized, parts, batch);
  merge(batch, workspace, false);
  trace(normalized, parts, batch, result, nullptr);
  return result.tokens.size();
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
