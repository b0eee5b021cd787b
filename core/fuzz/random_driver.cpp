// Runs every target on random choices, and on the inputs that are kept in core/fuzz/corpus.
// core_fuzz ITERATIONS [SEED] [CORPUS]: the same seed makes the same choices; a failure names target and iteration.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "fuzz.hpp"

namespace piecework::tests {
namespace {

uint64_t replay(const std::filesystem::path& corpus) {
  uint64_t inputs = 0;
  for (const Target& target : kTargets) {
    const std::filesystem::path folder = corpus / target.name;
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string input{std::istreambuf_iterator<char>(file), {}};
      Random random{std::string_view(input)};
      target.run(random);
      ++inputs;
    }
  }
  return inputs;
}

}  // namespace
}  // namespace piecework::tests

int main(int argc, char** argv) {
  using namespace piecework::tests;
  const uint64_t iterations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  for (const Target& target : kTargets) {
    for (uint64_t i = 0; i < iterations; ++i) {
      Random random(seed * 1'000'003 + i);
      try {
        target.run(random);
      } catch (const std::exception& error) {
        std::cerr << target.name << ", iteration " << i << " of seed " << seed << ": " << error.what() << "\n";
        return 1;
      }
    }
  }
  const uint64_t inputs = argc > 3 ? replay(argv[3]) : 0;
  std::cout << std::size(kTargets) << " targets, " << iterations << " iterations each of seed " << seed << ", "
            << inputs << " kept inputs, all well\n";
}
