#include "extend/piece_usage.hpp"

#include <string>

#include "text/utf8.hpp"

namespace piecework {
namespace {

constexpr size_t kCheckpoint = 1 << 14;

template <class Visit>
void visit_words(const WordTable& words, const Checkpoint& checkpoint, Visit&& visit) {
  const std::vector<uint32_t> order = words.sorted();  // words that start alike are encoded together
  uint64_t all = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i % kCheckpoint == 0 && checkpoint) checkpoint();
    const Word word = words.at(order[i]);
    // No sum of counts of tokens can overflow if this sum does not: a word has at most three tokens per byte.
    all = add_counts(all, multiply_counts(3 * (word.bytes.size() + 1), word.count));
    if (word.count) visit(word);
  }
}

}  // namespace

std::vector<uint64_t> piece_usage(const Encoder& encoder, const WordTable& words, const TrainingOptions& options,
                                  const Checkpoint& checkpoint) {
  std::vector<uint64_t> usage(encoder.model().size(), 0);
  PrefixEncoder prefixes = encoder.prefix_encoder();
  FormMaker forms(options);
  std::string text;
  std::vector<TracedToken> tokens;
  visit_words(words, checkpoint, [&](const Word& word) {
    const TrainingForm form = forms.form(word);
    text.assign(form.marked ? " " : "").append(form.text);
    if (text.empty()) return;
    encoder.trace(text, prefixes, tokens);
    for (const TracedToken& token : tokens) usage[token.id] += word.count;
  });
  return usage;
}

std::vector<uint64_t> piece_usage(const ByteLevelEncoder& encoder, size_t vocab_size, const WordTable& pre_tokens,
                                  const Checkpoint& checkpoint) {
  std::vector<uint64_t> usage(vocab_size, 0);
  std::vector<uint32_t> ids;
  visit_words(pre_tokens, checkpoint, [&](const Word& pre_token) {
    ids.clear();
    encoder.encode_pre_token(pre_token.bytes, ids);
    for (const uint32_t id : ids) usage[id] += pre_token.count;
  });
  return usage;
}

}  // namespace piecework
