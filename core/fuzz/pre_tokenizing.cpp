// Pre-tokenizers: pre-tokens of any valid text are not empty, and together they are the text.
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
  std::string together;
  PreTokenizer(rules).for_each(text, [&](std::string_view pre_token) {
    REQUIRE(!pre_token.empty());
    REQUIRE(find_invalid_utf8(pre_token) == pre_token.size());
    together += pre_token;
  });
  REQUIRE(together == text);
}

}  // namespace piecework::tests
