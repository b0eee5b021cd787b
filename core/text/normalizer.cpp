#include "text/normalizer.hpp"

#include <cstring>

#include "text/utf8.hpp"

namespace piecework {
namespace {

// An element of the double array.
struct TrieNode {
  uint32_t bits;
  bool has_leaf() const { return bits >> 8 & 1; }
  uint32_t value() const { return bits & 0x7FFFFFFF; }
  uint32_t label() const { return bits & 0x800000FF; }
  uint32_t offset() const { return (bits >> 10) << ((bits & 0x200) >> 6); }
};

void replace_marks_by_spaces(std::string& text, std::vector<size_t>* origins) {
  size_t from = text.find(kSpaceMarkUtf8);
  if (from == text.npos) return;
  size_t to = from;
  while (from < text.size()) {
    const bool mark = std::string_view(text).substr(from).starts_with(kSpaceMarkUtf8);
    text[to] = mark ? ' ' : text[from];
    if (origins) (*origins)[to] = (*origins)[from];
    ++to;
    from += mark ? kSpaceMarkUtf8.size() : 1;
  }
  if (origins) {
    (*origins)[to] = origins->back();
    origins->resize(to + 1);
  }
  text.resize(to);
}

}  // namespace

Normalizer::Normalizer(const NormalizerSettings& settings)
    : add_dummy_prefix_(settings.add_dummy_prefix),
      remove_extra_whitespaces_(settings.remove_extra_whitespaces),
      escape_whitespaces_(settings.escape_whitespaces),
      suffix_(settings.treat_whitespace_as_suffix),
      user_symbols_(settings.user_symbols) {
  const std::string& charsmap = settings.precompiled_charsmap;
  if (charsmap.empty()) return;
  uint32_t trie_bytes = 0;
  if (charsmap.size() > 4) std::memcpy(&trie_bytes, charsmap.data(), 4);
  if (trie_bytes < 1024 || trie_bytes % 1024 || trie_bytes >= charsmap.size() - 4 || charsmap.back() != '\0') {
    throw NormalizerError("the normalisation rules (precompiled_charsmap) are damaged");
  }
  trie_.resize(trie_bytes / 4);
  std::memcpy(trie_.data(), charsmap.data() + 4, trie_bytes);
  replacements_ = charsmap.substr(4 + trie_bytes);
}

void Normalizer::normalize(std::string_view text, std::string& out, std::vector<size_t>* origins,
                           bool known_valid) const {
  out.clear();
  if (origins) origins->clear();
  if (text.empty()) {
    if (origins) origins->push_back(0);
    return;
  }
  const bool plain = trie_.empty() && !remove_extra_whitespaces_;
  if (!plain || origins) {
    normalize_fully(text, out, origins);
  } else {
    if (add_dummy_prefix_ && !suffix_) out += ' ';
    if (known_valid || find_invalid_utf8(text) == text.size()) {
      out.append(text);
    } else {
      uint64_t replaced = 0;
      out.append(replace_invalid_utf8(text, replaced));
    }
    if (add_dummy_prefix_ && suffix_) out += ' ';
  }
  if (escape_whitespaces_) replace_marks_by_spaces(out, origins);
}

// Does what SentencePiece does, rule by rule, but writes a space instead of ▁. A ▁ of the text stays, except at the end
// of the text: there SentencePiece removes it like a space.
void Normalizer::normalize_fully(std::string_view text, std::string& out, std::vector<size_t>* origins) const {
  size_t consumed = 0;
  if (remove_extra_whitespaces_) {
    while (!text.empty()) {
      const Prefix prefix = normalize_prefix(text);
      if (prefix.replacement != " ") break;
      text.remove_prefix(prefix.consumed);
      consumed += prefix.consumed;
    }
    if (text.empty()) {
      if (origins) origins->push_back(consumed);
      return;
    }
  }
  const auto put = [&](char byte) {
    out += byte;
    if (origins) origins->push_back(consumed);
  };
  if (add_dummy_prefix_ && !suffix_) put(' ');
  bool after_space = remove_extra_whitespaces_;
  while (!text.empty()) {
    const Prefix prefix = normalize_prefix(text);
    std::string_view replacement = prefix.replacement;
    while (after_space && replacement.starts_with(' ')) replacement.remove_prefix(1);
    for (const char byte : replacement) put(byte);
    if (!replacement.empty()) after_space = replacement.ends_with(' ');
    consumed += prefix.consumed;
    text.remove_prefix(prefix.consumed);
    if (!remove_extra_whitespaces_) after_space = false;
  }
  if (remove_extra_whitespaces_) {
    const auto trailing = [&]() -> size_t {
      if (out.ends_with(' ')) return 1;
      return escape_whitespaces_ && out.ends_with(kSpaceMarkUtf8) ? kSpaceMarkUtf8.size() : 0;
    };
    while (const size_t length = trailing()) {
      out.resize(out.size() - length);
      if (origins) {
        consumed = (*origins)[out.size()];
        origins->resize(out.size());
      }
    }
  }
  if (add_dummy_prefix_ && suffix_) put(' ');
  if (origins) origins->push_back(consumed);
}

bool Normalizer::has_rule_for_spaces() const {
  if (trie_.empty()) return false;
  std::vector<bool> seen(trie_.size(), false);
  std::vector<uint32_t> bases{TrieNode{trie_[0]}.offset()};  // of nodes whose children are to be visited
  while (!bases.empty()) {
    const uint32_t base = bases.back();
    bases.pop_back();
    for (uint32_t byte = 1; byte < 256; ++byte) {
      const uint32_t at = base ^ byte;
      if (at >= trie_.size() || seen[at] || TrieNode{trie_[at]}.label() != byte) continue;
      if (byte == ' ') return true;
      seen[at] = true;
      bases.push_back(at ^ TrieNode{trie_[at]}.offset());
    }
  }
  return false;
}

size_t Normalizer::longest_rule(std::string_view text, std::string_view& replacement) const {
  size_t longest = 0;
  uint32_t at = TrieNode{trie_[0]}.offset();
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    if (at >= trie_.size()) break;
    const TrieNode node{trie_[at]};
    if (node.label() != byte) break;
    at ^= node.offset();
    if (at >= trie_.size()) break;
    if (node.has_leaf()) {
      const uint32_t value = TrieNode{trie_[at]}.value();
      if (value >= replacements_.size()) break;
      longest = i + 1;
      replacement = replacements_.c_str() + value;
    }
  }
  return longest;
}

Normalizer::Prefix Normalizer::normalize_prefix(std::string_view text) const {
  if (user_symbols_.may_start(text[0])) {
    if (const size_t length = user_symbols_.match(text)) return {text.substr(0, length), length};
  }
  if (!trie_.empty()) {
    std::string_view replacement;
    if (const size_t length = longest_rule(text, replacement)) return {replacement, length};
  }
  const Decoded c = decode_utf8(text.data(), text.data() + text.size());
  if (!c.valid) return {kReplacementUtf8, 1};
  return {text.substr(0, c.length), c.length};
}

}  // namespace piecework
