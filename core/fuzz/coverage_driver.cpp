// One target for libFuzzer. The name of the target is that of the program: fuzz_counting, fuzz_training, …
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "fuzz.hpp"

namespace {
const piecework::tests::Target* chosen = nullptr;
}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
  const std::string name = std::filesystem::path((*arguments)[0]).filename().string();
  for (const piecework::tests::Target& target : piecework::tests::kTargets) {
    if (name == "fuzz_" + std::string(target.name)) chosen = &target;
  }
  if (!chosen) {
    std::cerr << name << ": no such target\n";
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  piecework::tests::Random random{std::string_view(reinterpret_cast<const char*>(data), size)};
  chosen->run(random);
  return 0;
}
