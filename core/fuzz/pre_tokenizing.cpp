// Pre-tokenizers: pre-tokens of any valid text are those that are found one by one, and together they are the text.
#include "fuzz.hpp"
#include "pretokenize/pre_tokenizer.hpp"

namespace piecework::tests {

void fuzz_pre_tokenizing(Random& random) {
  PreTokenizerRules rules;
  rules.family = static_cast<PreTokenizerRules::Family>(random.below(4));
  rules.contractions = static_cast<PreTokenizerRules::Contractions>(random.below(4));
  rules.digits = static_cast<PreTokenizerRules::Digits>(random.below(4));
  rules.marks_in_words = random.chance(2);
  rules.whole_end = random.chance(2);
  const std::string text = repaired(any_text(random));
  const PreTokenizer pre_tokenizer(rules);
  size_t at = 0;
  pre_tokenizer.for_each(text, [&](std::string_view pre_token) {
    REQUIRE(!pre_token.empty());
    REQUIRE(find_invalid_utf8(pre_token) == pre_token.size());
    REQUIRE(pre_token.data() == text.data() + at);
    at += pre_token.size();
    REQUIRE(pre_tokenizer.next_end(text, at - pre_token.size()) == at);
  });
  REQUIRE(at == text.size());
  // Each line is a text of its own, although they are found together.
  std::vector<size_t> ends_of_lines, together;
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    end = text.find('\n', begin);
    end = end == text.npos ? text.size() : end + 1;
    for (size_t p = begin; p < end; ends_of_lines.push_back(p)) p = pre_tokenizer.next_end({text.data(), end}, p);
  }
  const auto keep = [&](size_t, const size_t* ends, size_t count) {
    together.insert(together.end(), ends, ends + count);
  };
  pre_tokenizer.for_each_block(text, keep, PreTokenizer::Unit::line);
  REQUIRE(together == ends_of_lines);
}

}  // namespace piecework::tests
