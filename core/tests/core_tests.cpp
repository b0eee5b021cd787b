// Runs all tests, or those whose names contain the argument.
#include <exception>

#include "check.hpp"

int main(int argc, char** argv) {
  using namespace piecework::tests;
  size_t passed = 0, failed = 0;
  for (const Test& test : all_tests()) {
    if (argc > 1 && test.name.find(argv[1]) == std::string::npos) continue;
    failures() = 0;
    try {
      test.run();
    } catch (const std::exception& error) {
      fail(test.name.c_str(), 0, std::string("threw ") + error.what());
    }
    if (failures()) std::cerr << "FAILED " << test.name << "\n";
    ++(failures() ? failed : passed);
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed || passed == 0;
}
