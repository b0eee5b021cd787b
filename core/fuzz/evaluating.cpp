// Evaluation: totals of counted units equal those of the units encoded one by one; damaged units are refused.
#include <vector>

#include "evaluate/evaluator.hpp"
#include "fuzz.hpp"
#include "models.hpp"

namespace piecework::tests {
namespace {

struct Rows {
  std::vector<std::string> units;
  std::vector<uint8_t> buckets, opens;
  std::vector<uint64_t> counts;
};

// Units as counting gives them: a run of spaces with the text that follows it.
std::string any_unit(Random& random) {
  static constexpr std::string_view kLetters[] = {"a", "b", "ab", "\xC3\xA5", "\xE5\xAD\x97", "1", "\t"};
  std::string unit(random.below(3), ' ');
  for (uint64_t letters = 1 + random.below(8); letters > 0; --letters) unit += random.pick(kLetters);
  return unit;
}

}  // namespace

void fuzz_evaluating(Random& random) {
  const Encoder encoder(model_of({"ab",
                                  "\xE2\x96\x81"
                                  "a",
                                  "aa", "\xE2\x96\x81", "a", "b", "\xC3\xA5"},
                                 random.chance(2)));
  Rows rows;
  const bool damaged = random.chance(4);
  uint64_t tokens = 0;
  for (uint64_t row = random.below(40); row > 0; --row) {
    rows.units.push_back(damaged ? any_text(random) : any_unit(random));
    rows.buckets.push_back(static_cast<uint8_t>(random.below(UnitSet::kBuckets)));
    rows.opens.push_back(0);
    rows.counts.push_back(1 + random.below(1000));
    if (!damaged) tokens += encoder.count_tokens(rows.units.back()) * rows.counts.back();
  }
  const std::vector<std::string_view> views(rows.units.begin(), rows.units.end());
  UnitSet units(1, false);
  try {
    units.add(0, {views, rows.buckets.data(), rows.opens.data(), rows.counts.data()});
    EvaluationRequest request;
    request.threads = 1 + static_cast<unsigned>(random.below(2));
    request.frequency_groups = 1;
    const Evaluation evaluation = evaluate_units(encoder, units, request);
    uint64_t found = 0;
    for (const TokenTotals& totals : evaluation.totals) found += totals.tokens;
    REQUIRE(damaged || found == tokens);
  } catch (const std::invalid_argument&) {
    REQUIRE(damaged);
  }
}

}  // namespace piecework::tests
