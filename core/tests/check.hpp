// A small test harness. Tests register themselves by name; a failed CHECK prints the expression and its line.
#pragma once

#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace piecework::tests {

struct Test {
  std::string name;
  std::function<void()> run;
};

inline std::vector<Test>& all_tests() {
  static std::vector<Test> tests;
  return tests;
}

struct Register {
  Register(std::string name, std::function<void()> run) { all_tests().push_back({std::move(name), std::move(run)}); }
};

// Number of failed checks in the current test.
inline size_t& failures() {
  static size_t count = 0;
  return count;
}

inline void fail(const char* file, int line, const std::string& what) {
  if (++failures() <= 10) std::cerr << file << ":" << line << ": " << what << "\n";
}

template <class T>
std::string show(const T& value) {
  std::ostringstream out;
  if constexpr (requires { out << value; }) {
    out << value;
  } else if constexpr (requires { value.first; }) {
    out << "(" << show(value.first) << ", " << show(value.second) << ")";
  } else if constexpr (requires { value.begin(); }) {
    out << "[";
    for (const auto& item : value) out << show(item) << ", ";
    out << "]";
  } else {
    out << "?";
  }
  return out.str();
}

template <class A, class B>
void check_equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (!(a == b)) fail(file, line, std::string(text) + ": " + show(a) + " is not " + show(b));
}

#define TEST(name)                                                        \
  static void name();                                                     \
  static const ::piecework::tests::Register register_##name(#name, name); \
  static void name()
#define CHECK(...) \
  ((__VA_ARGS__) ? void() : ::piecework::tests::fail(__FILE__, __LINE__, std::string("not true: ") + #__VA_ARGS__))
// The second argument may be a braced list, hence the dots.
#define CHECK_EQUAL(a, ...)                                                                                      \
  ::piecework::tests::check_equal((a), std::decay_t<decltype(a)>(__VA_ARGS__), #a " == " #__VA_ARGS__, __FILE__, \
                                  __LINE__)
#define CHECK_THROWS(type, ...)                                                                        \
  do {                                                                                                 \
    bool thrown_ = false;                                                                              \
    try {                                                                                              \
      static_cast<void>(__VA_ARGS__);                                                                  \
    } catch (const type&) {                                                                            \
      thrown_ = true;                                                                                  \
    }                                                                                                  \
    if (!thrown_) ::piecework::tests::fail(__FILE__, __LINE__, #__VA_ARGS__ " does not throw " #type); \
  } while (false)

// A copy of exact size, so that AddressSanitizer reports any read past its end.
class Exact {
 public:
  explicit Exact(std::string_view text) : data_(new char[text.size()]), size_(text.size()) {
    if (size_) std::memcpy(data_.get(), text.data(), size_);
  }
  std::string_view view() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char[]> data_;
  size_t size_;
};

}  // namespace piecework::tests
