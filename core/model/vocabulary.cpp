#include "model/vocabulary.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "text/bytes.hpp"
#include "text/json.hpp"
#include "text/text_table.hpp"
#include "text/utf8.hpp"

namespace piecework {

namespace {

// Tags of protobuf: the number and the wire type of a field. kPieces is a field of the model, the others of a piece.
constexpr uint64_t kPieces = 1 << 3 | 2;
constexpr uint64_t kText = 1 << 3 | 2, kScore = 2 << 3 | 5, kType = 3 << 3 | 0;

class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }

  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    throw damaged();
  }

  // The number and the wire type of a field. Protobuf has no field 0.
  uint64_t tag() {
    const uint64_t value = number();
    if (value >> 3 == 0) throw damaged();
    return value;
  }

  std::string_view take(uint64_t size) {
    if (size > rest_.size()) throw damaged();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  // Skips the value after a tag that is not needed here.
  void skip(uint64_t tag) {
    for (size_t open_groups = 0;; tag = this->tag()) {
      switch (tag & 7) {
        case 0:
          number();
          break;
        case 1:
          take(8);
          break;
        case 2:
          take(number());
          break;
        case 3:
          ++open_groups;
          break;
        case 4:
          if (open_groups-- == 0) throw damaged();
          break;
        case 5:
          take(4);
          break;
        default:
          throw damaged();
      }
      if (open_groups == 0) return;
    }
  }

 private:
  static ModelError damaged() { return ModelError("not a SentencePiece model, or one that was cut short"); }

  std::string_view rest_;
};

void add_piece(MessageReader message, Vocabulary& vocabulary) {
  std::string_view text;
  float score = 0;
  auto type = PieceType::normal;
  while (!message.at_end()) {
    const uint64_t tag = message.tag();
    if (tag == kText) {
      text = message.take(message.number());
    } else if (tag == kScore) {
      std::memcpy(&score, message.take(sizeof score).data(), sizeof score);
    } else if (tag == kType) {
      // An unknown type is ignored, as protobuf requires.
      const auto number = static_cast<uint32_t>(message.number());
      if (number >= 1 && number <= 6) type = static_cast<PieceType>(number);
    } else {
      message.skip(tag);
    }
  }
  if (find_invalid_utf8(text) != text.size()) throw ModelError("a text in the model is not valid UTF-8");
  vocabulary.texts.emplace_back(text);
  vocabulary.scores.push_back(score);
  vocabulary.types.push_back(type);
}

bool is_run(std::string_view text) {
  while (text.starts_with(kSpaceMarkUtf8)) text.remove_prefix(kSpaceMarkUtf8.size());
  return text.empty();
}

// The score, or the lowest number if a damaged model has NaN, which cannot be compared.
float ordered(float score) { return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score; }

}  // namespace

Vocabulary read_pieces(std::string_view file) {
  Vocabulary vocabulary;
  for (MessageReader message(file); !message.at_end();) {
    const uint64_t tag = message.tag();
    if (tag == kPieces) {
      add_piece(MessageReader(message.take(message.number())), vocabulary);
    } else {
      message.skip(tag);
    }
  }
  return vocabulary;
}

std::string write_pieces(const Vocabulary& vocabulary) {
  std::string out, piece;
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    piece.clear();
    append_varint(piece, kText);
    append_varint(piece, vocabulary.texts[id].size());
    piece += vocabulary.texts[id];
    append_varint(piece, kScore);
    piece.append(reinterpret_cast<const char*>(&vocabulary.scores[id]), sizeof(float));
    if (vocabulary.types[id] != PieceType::normal) {
      append_varint(piece, kType);
      append_varint(piece, static_cast<uint64_t>(vocabulary.types[id]));
    }
    append_varint(out, kPieces);
    append_varint(out, piece.size());
    out += piece;
  }
  return out;
}

std::string vocab_text(const Vocabulary& vocabulary) {
  std::string out;
  char score[16];  // six digits, a sign, a point, an exponent
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    const float value = std::isnan(vocabulary.scores[id]) ? std::abs(vocabulary.scores[id]) : vocabulary.scores[id];
    // Training gives whole numbers, and these are written faster as integers. An integer cannot be -0.
    const bool whole = value > -1e6F && value < 0 && value == std::trunc(value);
    char* end = whole ? std::to_chars(score, std::end(score), static_cast<int32_t>(value)).ptr
                      : std::to_chars(score, std::end(score), value, std::chars_format::general, 6).ptr;
    out.append(vocabulary.texts[id]).append(1, '\t').append(score, end).append(1, '\n');
  }
  return out;
}

std::vector<uint32_t> tied_pieces(const Vocabulary& vocabulary) {
  std::vector<uint32_t> merged;
  for (uint32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string& text = vocabulary.texts[id];
    if (vocabulary.types[id] != PieceType::normal || text.empty()) continue;
    const bool is_character = decode_utf8(text.data(), text.data() + text.size()).length == text.size();
    if (!is_character && !is_run(text)) merged.push_back(id);
  }
  const auto score = [&](uint32_t id) { return ordered(vocabulary.scores[id]); };
  std::stable_sort(merged.begin(), merged.end(), [&](uint32_t a, uint32_t b) { return score(a) > score(b); });
  std::vector<uint32_t> tied;
  for (size_t i = 0; i < merged.size(); ++i) {
    const bool as_before = i > 0 && score(merged[i]) == score(merged[i - 1]);
    const bool as_after = i + 1 < merged.size() && score(merged[i]) == score(merged[i + 1]);
    if (as_before || as_after) tied.push_back(merged[i]);
  }
  return tied;
}

std::optional<uint32_t> first_unjoined(const Vocabulary& vocabulary, size_t merges, size_t characters) {
  constexpr size_t kNever = SIZE_MAX;
  std::vector<size_t> times(vocabulary.size(), kNever);  // when a piece is there
  std::vector<uint32_t> merged;
  for (uint32_t id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.types[id] != PieceType::normal) continue;
    if (merged.size() < merges) {
      merged.push_back(id);
      times[id] = merged.size();
    } else if (characters > 0) {
      --characters;
      times[id] = 0;
    }
  }
  const TextTable ids(vocabulary.texts, [&](uint32_t id) { return times[id] != kNever; });
  const auto is_earlier = [&](std::string_view text, uint32_t than) {
    const uint32_t id = ids.find(text);
    return id != TextTable::kNotFound && times[id] < times[than];
  };
  for (const uint32_t id : merged) {
    const std::string_view text = vocabulary.texts[id];
    bool joins = false;
    for (size_t at = 1; at < text.size() && !joins; ++at) {
      if (is_continuation(static_cast<unsigned char>(text[at]))) continue;
      joins = is_earlier(text.substr(0, at), id) && is_earlier(text.substr(at), id);
    }
    if (!joins) return id;
  }
  return std::nullopt;
}

std::string ids_json(const Vocabulary& vocabulary) {
  std::string out = "{";
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    if (id > 0) out += ',';
    append_json_string(out, vocabulary.texts[id]);
    out.append(1, ':').append(std::to_string(id));
  }
  return out + '}';
}

std::vector<char32_t> lone_characters(const Vocabulary& vocabulary) {
  std::vector<bool> alone(0x110000), known(0x110000);
  std::vector<char32_t> found;
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    const std::string& text = vocabulary.texts[id];
    if (vocabulary.types[id] != PieceType::normal) continue;
    for (const char *p = text.data(), *last = p + text.size(); p < last;) {
      const Decoded c = decode_utf8(p, last);
      (c.length == text.size() ? known : alone)[c.code] = true;
      p += c.length;
    }
  }
  for (char32_t code = 0; code < alone.size(); ++code) {
    if (alone[code] && !known[code]) found.push_back(code);
  }
  return found;
}

}  // namespace piecework
