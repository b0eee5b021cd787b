// UTF-8, short keys, prefix matching, and reading Arrow arrays.
#include <array>

#include "check.hpp"
#include "text/arrow_strings.hpp"
#include "text/prefix_matcher.hpp"
#include "text/short_key.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

using tests::Exact;
using namespace std::string_view_literals;

Decoded decode(std::string_view bytes) {
  const Exact exact(bytes);
  return decode_utf8(exact.view().data(), exact.view().data() + bytes.size());
}

TEST(utf8_every_code_point_round_trips) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    std::string bytes;
    append_utf8(bytes, code);
    const Decoded c = decode_utf8(bytes.data(), bytes.data() + bytes.size());
    if (code >= 0xD800 && code <= 0xDFFF) {
      CHECK(!c.valid && c.length == 1);
    } else {
      CHECK(c.valid && c.code == code && c.length == bytes.size());
    }
  }
}

TEST(utf8_boundaries) {
  const std::pair<std::string_view, char32_t> good[] = {
      {"\x00"sv, 0},
      {"\x7F", 0x7F},
      {"\xC2\x80", 0x80},
      {"\xDF\xBF", 0x7FF},
      {"\xE0\xA0\x80", 0x800},
      {"\xED\x9F\xBF", 0xD7FF},
      {"\xEE\x80\x80", 0xE000},
      {"\xEF\xBF\xBF", 0xFFFF},
      {"\xF0\x90\x80\x80", 0x10000},
      {"\xF4\x8F\xBF\xBF", 0x10FFFF},
  };
  for (const auto& [bytes, code] : good) {
    const Decoded c = decode(bytes);
    CHECK(c.valid && c.code == code && c.length == bytes.size());
    CHECK_EQUAL(find_invalid_utf8(bytes), bytes.size());
  }
}

TEST(utf8_invalid_is_one_byte) {
  const std::string_view bad[] = {
      "\x80",
      "\xBF",
      "\xC0\x80",
      "\xC1\xBF",
      "\xE0\x80\x80",
      "\xE0\x9F\xBF",  // overlong from the third on
      "\xED\xA0\x80",
      "\xED\xBF\xBF",  // surrogates
      "\xF0\x80\x80\x80",
      "\xF0\x8F\xBF\xBF",
      "\xF4\x90\x80\x80",
      "\xF5\x80\x80\x80",  // overlong, too large
      "\xF8\x88\x80\x80\x80",
      "\xFE",
      "\xFF",
      "\xC3",
      "\xC3(",
      "\xE2\x96",
      "\xE2",
      "\xE2\x28\x81",
      "\xE2\x96(",
      "\xF0\x9F\x98",
      "\xF0\x9F",
      "\xF0",
      "\xF0\x28\x98\x80",
      "\xF0\x9F(\x80",
      "\xF0\x9F\x98(",
  };
  for (const std::string_view bytes : bad) {
    const Decoded c = decode(bytes);
    CHECK(!c.valid && c.length == 1 && c.code == kReplacement);
    CHECK_EQUAL(find_invalid_utf8(Exact(bytes).view()), 0);
  }
}

// The table of well-formed byte sequences of the Unicode standard, chapter 3, as a second opinion.
TEST(utf8_second_bytes) {
  for (unsigned lead = 0x80; lead < 0x100; ++lead) {
    for (unsigned second = 0; second < 0x100; ++second) {
      const char bytes[] = {static_cast<char>(lead), static_cast<char>(second), '\x80', '\x80'};
      unsigned low = 0x80, high = 0xBF;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
      const bool good = lead >= 0xC2 && lead <= 0xF4 && second >= low && second <= high;
      CHECK_EQUAL(decode_utf8(bytes, bytes + 4).valid, good);
    }
  }
}

TEST(utf8_the_first_bad_byte_is_found_anywhere) {
  for (size_t length = 1; length < 40; ++length) {
    for (size_t at = 0; at < length; ++at) {
      std::string text(length, 'a');
      CHECK_EQUAL(find_invalid_utf8(Exact(text).view()), length);
      text[at] = '\xE2';
      CHECK_EQUAL(find_invalid_utf8(Exact(text).view()), at);
    }
  }
  CHECK_EQUAL(find_invalid_utf8(""), 0);
}

TEST(utf8_each_bad_byte_is_replaced) {
  uint64_t replaced = 0;
  CHECK_EQUAL(replace_invalid_utf8("a\xE2\x96z\xED\xA0\x80\xC3\xA5\xF0\x9F", replaced),
              "a\uFFFD\uFFFDz\uFFFD\uFFFD\uFFFD\u00E5\uFFFD\uFFFD");
  CHECK_EQUAL(replaced, 7);
  CHECK_EQUAL(replace_invalid_utf8("", replaced), "");
  CHECK_EQUAL(replace_invalid_utf8("d\u00E5 \U0001F600", replaced), "d\u00E5 \U0001F600");
  CHECK_EQUAL(replaced, 7);
}

TEST(short_keys_do_not_depend_on_what_follows) {
  for (size_t length = 0; length <= ShortKey::kMaxLength; ++length) {
    std::string word(length, 'x');
    for (size_t i = 0; i < length; ++i) word[i] = static_cast<char>(200 + i);
    const ShortKey exact = ShortKey::from_exact(Exact(word).view().data(), length, false);
    for (const char after : {'\0', '\xFF'}) {
      const std::string padded = word + std::string(24 - length, after);
      const ShortKey readable = ShortKey::from_readable(padded.data(), length, false);
      CHECK(exact == readable && exact.hash() == readable.hash());
      CHECK(!(readable == ShortKey::from_readable(padded.data(), length, true)));
    }
    CHECK_EQUAL(exact.length(), length);
    CHECK_EQUAL(std::string(exact.data(), length), word);
    CHECK(!exact.flag() && ShortKey::from_exact(word.data(), length, true).flag());
  }
}

TEST(short_keys_tell_a_nul_from_the_end) {
  CHECK(!(ShortKey::from_exact("a", 1, false) == ShortKey::from_exact("a\0", 2, false)));
  CHECK(!(ShortKey::from_exact("", 0, false) == ShortKey::from_exact("\0", 1, false)));
}

TEST(prefixes_the_longest_wins) {
  const PrefixMatcher matcher({"ab", "abcd", "b", "", "ab", "\xE2\x96\x81"});
  CHECK_EQUAL(matcher.match("abc"), 2);
  CHECK_EQUAL(matcher.match("abcde"), 4);
  CHECK_EQUAL(matcher.match("b"), 1);
  CHECK_EQUAL(matcher.match("a"), 0);
  CHECK_EQUAL(matcher.match(""), 0);
  CHECK_EQUAL(matcher.match("\xE2\x96\x81\xE2"), 3);
  CHECK_EQUAL(matcher.match("\xE2\x96"), 0);
  CHECK(matcher.may_start('a') && matcher.may_start('\xE2') && !matcher.may_start('c'));
  CHECK(PrefixMatcher({""}).empty() && !matcher.empty());
}

// Arrow arrays laid out by hand.

using Strings = std::vector<std::string_view>;

Strings read(const char* format, int64_t length, int64_t offset, std::vector<const void*> buffers) {
  const ArrowSchema schema{format, "", nullptr, 0, 0, nullptr, nullptr, nullptr, nullptr};
  const ArrowArray array{length,  -1,      offset, static_cast<int64_t>(buffers.size()), 0, buffers.data(), nullptr,
                         nullptr, nullptr, nullptr};
  return arrow_strings(schema, array);
}

TEST(arrow_narrow_and_wide_offsets) {
  const char data[] = "heipaadeg";
  const int32_t narrow[] = {0, 3, 3, 6, 9};
  const int64_t wide[] = {0, 3, 3, 6, 9};
  const uint8_t valid[] = {0b1011};
  for (const char* format : {"u", "z"}) {
    CHECK_EQUAL(read(format, 4, 0, {nullptr, narrow, data}), {"hei", "", "paa", "deg"});
    CHECK_EQUAL(read(format, 4, 0, {valid, narrow, data}), {"hei", "", "deg"});
    CHECK_EQUAL(read(format, 2, 2, {valid, narrow, data}), {"deg"});
  }
  for (const char* format : {"U", "Z"}) {
    CHECK_EQUAL(read(format, 4, 0, {valid, wide, data}), {"hei", "", "deg"});
    CHECK_EQUAL(read(format, 1, 2, {nullptr, wide, data}), {"paa"});
  }
}

TEST(arrow_views) {
  const std::string first = "a string of more than twelve bytes", second = "...and another one, further in";
  std::array<char, 16> views[4] = {};
  const auto put = [&](size_t i, int32_t length, const char* inlined, int32_t buffer, int32_t at) {
    std::memcpy(views[i].data(), &length, 4);
    if (inlined) {
      std::memcpy(views[i].data() + 4, inlined, static_cast<size_t>(length));
    } else {
      std::memcpy(views[i].data() + 8, &buffer, 4);
      std::memcpy(views[i].data() + 12, &at, 4);
    }
  };
  put(0, 12, "twelve bytes", 0, 0);
  put(1, static_cast<int32_t>(first.size()), nullptr, 0, 0);
  put(2, 0, "", 0, 0);
  put(3, static_cast<int32_t>(second.size()) - 3, nullptr, 1, 3);
  const std::string_view last = std::string_view(second).substr(3);
  const uint8_t valid[] = {0b1101};
  for (const char* format : {"vu", "vz"}) {
    CHECK_EQUAL(read(format, 4, 0, {nullptr, views, first.data(), second.data()}), {"twelve bytes", first, "", last});
    CHECK_EQUAL(read(format, 3, 1, {valid, views, first.data(), second.data()}), {"", last});
  }
}

TEST(arrow_empty_arrays_may_lack_their_buffers) {
  for (const char* format : {"u", "U", "vu"}) CHECK_EQUAL(read(format, 0, 0, {nullptr, nullptr, nullptr}), Strings{});
  const int32_t offsets[] = {0, 0, 0};
  CHECK_EQUAL(read("u", 2, 0, {nullptr, offsets, nullptr}), {"", ""});
}

TEST(arrow_nulls_may_be_in_any_byte) {
  std::vector<int32_t> offsets;
  for (int32_t i = 0; i <= 20; ++i) offsets.push_back(i);
  const uint8_t valid[] = {0xFF, 0b10101010, 0b0101};
  CHECK_EQUAL(read("u", 14, 6, {valid, offsets.data(), "abcdefghijklmnopqrst"}),
              {"g", "h", "j", "l", "n", "p", "q", "s"});
}

TEST(arrow_other_types_are_refused) {
  for (const char* format : {"l", "n", "+s", "i", "", "w:4", "v", "uu"}) {
    CHECK_THROWS(std::invalid_argument, read(format, 0, 0, {nullptr, nullptr, nullptr}));
  }
}

}  // namespace
}  // namespace piecework
