#include "train/auto_coverage.hpp"

#include <algorithm>
#include <unordered_map>

#include "text/utf8.hpp"

namespace piecework {
namespace {

struct Saving {
  Character character;
  uint64_t tokens;
  bool in_piece = false;
};

uint64_t utf8_length(char32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

template <class Visit>
void visit_characters(const std::string& piece, Visit&& visit) {
  for (const char *p = piece.data(), *last = p + piece.size(); p < last;) {
    const Decoded c = decode_utf8(p, last);
    visit(c.code);
    p += c.length;
  }
}

}  // namespace

void select_characters(TrainingResult& result, uint64_t budget) {
  std::vector<Saving> savings;
  for (const Character& c : result.characters) savings.push_back({c, c.count * (utf8_length(c.code) - 1)});
  std::sort(savings.begin(), savings.end(), [](const Saving& a, const Saving& b) {
    if (a.tokens != b.tokens) return a.tokens > b.tokens;
    return a.character.count != b.character.count ? a.character.count > b.character.count
                                                  : a.character.code < b.character.code;
  });
  std::unordered_map<char32_t, size_t> ranks;
  for (size_t rank = 0; rank < savings.size(); ++rank) ranks[savings[rank].character.code] = rank;
  const size_t useful = static_cast<size_t>(
      std::partition_point(savings.begin(), savings.end(), [](const Saving& s) { return s.tokens > 0; }) -
      savings.begin());

  // The selected single characters have a rank below `limit` and are in no piece. A merge takes one entry of the
  // vocabulary for itself and one for each new character. It removes at most these characters from the selected ones.
  // So `limit` only falls.
  size_t limit = useful, selected = useful;
  uint64_t saved = 0;  // tokens saved by merges, by characters of pieces and by selected characters
  for (size_t rank = 0; rank < useful; ++rank) saved += savings[rank].tokens;
  uint64_t piece_characters = 0, best_saved = 0;
  size_t best_merges = 0, best_selected = 0;
  for (size_t merges = 0; merges + piece_characters <= budget; ++merges) {
    while (selected > budget - merges - piece_characters) {
      const Saving& saving = savings[--limit];
      if (saving.in_piece) continue;
      --selected;
      saved -= saving.tokens;
    }
    if (saved >= best_saved) {
      best_saved = saved;
      best_merges = merges;
      best_selected = selected;
    }
    if (merges == result.merges.size()) break;
    saved += result.merges[merges].frequency;
    visit_characters(result.merges[merges].piece, [&](char32_t code) {
      const size_t rank = ranks.at(code);
      if (savings[rank].in_piece) return;
      savings[rank].in_piece = true;
      ++piece_characters;
      if (rank < limit) {
        --selected;
      } else {
        saved += savings[rank].tokens;
      }
    });
  }

  for (Saving& saving : savings) saving.in_piece = false;
  result.merges.resize(best_merges);
  for (const Merge& merge : result.merges) {
    visit_characters(merge.piece, [&](char32_t code) { savings[ranks.at(code)].in_piece = true; });
  }
  std::vector<Character> in_pieces, single;
  for (size_t rank = 0; rank < savings.size(); ++rank) {
    if (savings[rank].in_piece) {
      in_pieces.push_back(savings[rank].character);
    } else if (rank < useful && single.size() < best_selected) {
      single.push_back(savings[rank].character);
    }
  }
  std::sort(in_pieces.begin(), in_pieces.end(), [](const Character& a, const Character& b) { return a.code < b.code; });
  result.characters = std::move(in_pieces);
  result.characters.insert(result.characters.end(), single.begin(), single.end());
}

}  // namespace piecework
