// Text to tokens and back: normalisation, merging, what is unknown, and decoding.
#include <algorithm>

#include "check.hpp"
#include "encode/encoder.hpp"
#include "encode/id_cache.hpp"
#include "encode/unit_scanner.hpp"
#include "models.hpp"
#include "slow_encoder.hpp"
#include "words.hpp"

namespace piecework {
namespace {

using namespace tests;
using Ids = std::vector<uint32_t>;
using Pieces = std::vector<std::string>;

// The pieces of a text. Its ids and its spans must agree, and its merges must be inside the text.
Pieces encode(const Encoder& encoder, std::string_view text) {
  const Exact exact(text);
  Ids ids;
  encoder.encode(exact.view(), ids);
  Pieces pieces;
  size_t at = 0;
  for (const TokenSpan& span : encoder.encode_spans(exact.view())) {
    CHECK(at < ids.size() && ids[at] == span.id);
    ++at;
    pieces.push_back(span.piece);
  }
  CHECK_EQUAL(at, ids.size());
  uint32_t unit = 0;
  for (const TextMerge& merge : encoder.merges(exact.view())) {
    CHECK(merge.piece < encoder.model().size() && merge.unit >= unit);
    CHECK(merge.begin <= merge.middle && merge.middle <= merge.end && merge.end <= text.size());
    unit = merge.unit;
  }
  return pieces;
}

Pieces encode(const Model& model, std::string_view text) { return encode(Encoder(model), text); }

const Pieces kAbc{"ab", "▁ab", "▁abab", "a", "b", "▁", "c"};

TEST(encoding_merges_the_best_pair_first) {
  const Model model = model_of(kAbc);
  CHECK_EQUAL(encode(model, "ababab  b"), {"▁abab", "ab", "▁", "▁", "b"});
  CHECK_EQUAL(encode(model, "bab ab"), {"▁", "b", "ab", "▁ab"});
  CHECK_EQUAL(encode(model, "▁ab"), {"▁", "▁ab"});
}

TEST(merges_in_their_order_with_their_places) {
  const Encoder encoder(model_of(kAbc, false, {"<x>"}));
  std::vector<std::string> seen;
  for (const TextMerge& merge : encoder.merges("abab<x>c ab")) {
    seen.push_back(encoder.model().pieces[merge.piece] + " " + std::to_string(merge.begin) + " " +
                   std::to_string(merge.middle) + " " + std::to_string(merge.end));
  }
  // The prefix has no width, so a merge with it has its middle at 0. The symbol merges with nothing.
  CHECK_EQUAL(seen, {"ab 0 1 2", "ab 2 3 4", "▁ab 0 0 2", "▁abab 0 2 4", "ab 9 10 11", "▁ab 8 9 11"});
  CHECK_EQUAL(encoder.merges("").size(), size_t{0});
}

TEST(encoding_nothing_is_nothing) {
  CHECK_EQUAL(encode(model_of(kAbc), ""), Pieces{});
  CHECK_EQUAL(encode(model_of(kAbc), " "), {"▁", "▁"});
}

TEST(encoding_equal_scores_from_the_left) {
  Model model = model_of({"aa", "aaa", "a"});
  model.add_dummy_prefix = false;
  std::fill(model.scores.begin(), model.scores.end(), -1.0F);
  CHECK_EQUAL(encode(model, "aaaaa"), {"aaa", "aa"});
}

TEST(encoding_minus_zero_is_below_zero) {
  Model model = model_of({"ab", "bc", "a", "b", "c"});
  model.add_dummy_prefix = false;
  model.scores = {0, 0, -0.0F, 0.0F, -1, -1, -1};
  CHECK_EQUAL(encode(model, "abc"), {"a", "bc"});
}

TEST(encoding_unknown_characters_are_one_token) {
  const Model model = model_of(kAbc);
  CHECK_EQUAL(encode(model, "a?!b??"), {"▁", "a", "?!", "b", "??"});
  Ids ids;
  Encoder(model).encode("x\u00E5\u5B57y", ids);
  CHECK_EQUAL(ids, {7, 0});  // ▁ and <unk>
  // Also across units, if ▁ is no piece either.
  CHECK_EQUAL(encode(model_of({"a"}), "? ?a"), {"▁?▁?", "a"});
}

TEST(encoding_falls_back_to_bytes) {
  const Model model = model_of(kAbc, true);
  CHECK_EQUAL(encode(model, "a\u00E5\n"), {"▁", "a", "<0xC3>", "<0xA5>", "<0x0A>"});
  CHECK_EQUAL(encode(model, "a\xFF"), {"▁", "a", "<0xEF>", "<0xBF>", "<0xBD>"});
  CHECK_EQUAL(encode(model_of({"a"}, true), "a a"),
              {"<0xE2>", "<0x96>", "<0x81>", "a", "<0xE2>", "<0x96>", "<0x81>", "a"});
  // Each of many spaces becomes three tokens.
  CHECK_EQUAL(encode(model_of({"a"}, true), std::string(1'000, ' ')).size(), 3 * 1'001);
}

TEST(encoding_without_any_merge) {
  CHECK_EQUAL(encode(model_of({"a", "▁"}), "aa a"), {"▁", "a", "a", "▁", "a"});
  Ids ids;
  Encoder(model_of({})).encode("abc", ids);
  CHECK_EQUAL(ids, {0});
}

TEST(encoding_pieces_of_characters_that_are_no_pieces) {
  CHECK_EQUAL(encode(model_of({"xy", "▁"}, true), "xyx"), {"▁", "xy", "<0x78>"});
}

TEST(encoding_user_defined_symbols) {
  const Model model = model_of({"▁a", "aa", "a", "b", "▁", "c"}, true, {"ab", "<|x|>", "<|x|>y", "▁c"});
  CHECK_EQUAL(encode(model, "aab"), {"▁a", "ab"});
  CHECK_EQUAL(encode(model, "<|x|>ya<|x|>"), {"▁", "<|x|>y", "a", "<|x|>"});
  CHECK_EQUAL(encode(model, "b c"), {"▁", "b", "▁c"});
  CHECK_EQUAL(encode(model, "abab"), {"▁", "ab", "ab"});
}

TEST(encoding_unused_pieces_are_taken_apart) {
  Model model = model_of({"ab", "abc", "a", "b", "c"}, false);
  model.add_dummy_prefix = false;
  model.types[3] = PieceType::unused;  // abc
  CHECK_EQUAL(encode(model, "abcab"), {"ab", "c", "ab"});
  model.types[2] = PieceType::unused;  // ab too
  CHECK_EQUAL(encode(model, "abcab"), {"a", "b", "c", "a", "b"});
  model.types[4] = PieceType::unused;  // one character cannot be taken apart
  CHECK_EQUAL(encode(model, "ab"), {"a", "b"});
}

TEST(encoding_long_and_short_units_alike) {
  Random random(8);
  Pieces pieces{"a", "b", "c", "▁", "\u00E5"};
  for (int i = 0; i < 80; ++i) {
    const std::string piece = random.pick(pieces) + random.pick(pieces);
    if (piece.size() < 40 && std::find(pieces.begin(), pieces.end(), piece) == pieces.end()) pieces.push_back(piece);
  }
  for (const bool bytes : {false, true}) {
    for (const bool equal_scores : {false, true}) {
      Model model = model_of(pieces, bytes);
      if (equal_scores) {
        for (float& score : model.scores) score = static_cast<float>(static_cast<int>(score) / 7);
      }
      const Encoder encoder(model);
      const SlowEncoder slow(model);
      for (const size_t length : {1, 5, 22, 23, 24, 39, 40, 41, 42, 100, 300}) {
        for (int round = 0; round < 40; ++round) {
          std::string text;
          while (text.size() < length) text += round % 2 ? random.pick(pieces) : random.text(3);
          const Ids expected = slow.encode(text);
          for (int again = 0; again < 2; ++again) {  // the second time from the cache
            Ids ids;
            encoder.encode(text, ids);
            CHECK_EQUAL(ids, expected);
          }
        }
      }
    }
  }
}

TEST(encoding_a_very_long_unit) {
  const Encoder encoder(model_of({"aa", "aaaa", "a", "▁"}));
  Ids ids;
  encoder.encode(std::string(400'001, 'a'), ids);
  CHECK_EQUAL(ids.size(), 1 + 100'000 + 1);
}

TEST(encoding_batches) {
  Random random(9);
  const Encoder encoder(model_of(kAbc, true));
  std::vector<std::string> texts{"", " ", "\n"};
  for (int i = 0; i < 2'000; ++i) texts.push_back(random.text(random.below(400)));
  std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<Ids> expected;
  for (const std::string_view view : views) encoder.encode(view, expected.emplace_back());
  for (const unsigned threads : {0U, 1U, 2U, 7U}) {
    std::vector<Ids> ours;
    for (const IdBatch& batch : encoder.encode_batch(TextViews(views, threads == 2), threads)) {
      size_t begin = 0;
      for (const size_t end : batch.ends) {
        ours.emplace_back(batch.ids.begin() + static_cast<int64_t>(begin),
                          batch.ids.begin() + static_cast<int64_t>(end));
        begin = end;
      }
    }
    CHECK(ours == expected);
  }
  CHECK(encoder.encode_batch(TextViews({}, true), 3).empty());
}

// Texts of 1 to 70 bytes with 1 to 18 ids. Some are too long for both tables. The tables grow several times.
TEST(remembered_ids_are_those_that_were_encoded) {
  Random random(11);
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < 60'000; ++i) {
    texts.push_back(std::to_string(i) + std::string(random.below(i % 4 ? 8 : 65), 'x'));
  }
  const auto ids_of = [](std::string_view text) {
    Ids ids{static_cast<uint32_t>(hash_bytes(text)) & 0xFFFFF};
    for (size_t i = 4; i < text.size(); i += 4) ids.push_back(ids[0] + static_cast<uint32_t>(i));
    return ids;
  };
  std::string all;
  std::vector<size_t> ends;
  for (const std::string& text : texts) ends.push_back((all += text).size());
  IdCache cache;
  size_t encoded = 0;
  const auto encode = [&](std::string_view text, uint32_t* to) {
    ++encoded;
    const Ids ids = ids_of(text);
    return std::copy(ids.begin(), ids.end(), to);
  };
  std::vector<uint32_t> out(all.size() + IdCache::kMaxIds);
  for (int again = 0; again < 2; ++again) {
    encoded = 0;
    for (size_t first = 0, count; first < texts.size(); first += count) {
      count = std::min<size_t>(1 + random.below(IdCache::kBlock), texts.size() - first);
      const size_t begin = first ? ends[first - 1] : 0;
      const char* const limit = all.data() + ends[first + count - 1];
      const uint32_t* const end = cache.encode_block(all, begin, ends.data() + first, count, limit, out.data(), encode);
      Ids expected;
      for (size_t i = first; i < first + count; ++i) {
        const Ids ids = ids_of(texts[i]);
        expected.insert(expected.end(), ids.begin(), ids.end());
      }
      CHECK(Ids(out.data(), const_cast<uint32_t*>(end)) == expected);
    }
    if (!again) CHECK_EQUAL(encoded, texts.size());
  }
  CHECK(encoded < texts.size() / 6);
}

// A unit ends where the definition says so, byte by byte.
TEST(units_end_where_no_piece_reaches_across) {
  Random random(12);
  const Model model = model_of({"aa", "ab",
                                "\xC3\xA5"
                                "b",
                                "b<",
                                "\xE2\x96\x81"
                                "a",
                                "c", "<", "x", ">"},
                               true, {"<x>", "<x>b", "b<x"});
  const Merger merger(model);
  const PrefixMatcher symbols({"<x>", "<x>b", "b<x"});
  const UnitScanner units(merger, symbols);
  for (int round = 0; round < 3'000; ++round) {
    std::string text;
    const size_t size = 1 + random.below(round % 10 ? 150 : 1'500);
    const std::vector<std::string> parts{"a",        "a", "a", "b",   "c",   " ",
                                         "\xC3\xA5", "<", "x", "<x>", "b<x", round % 3 ? "a" : "<x>b"};
    while (text.size() < size) text += random.pick(parts);
    std::vector<size_t> expected, found;
    for (size_t at = 0; at < text.size(); expected.push_back(at)) {
      const std::string_view rest = std::string_view(text).substr(at);
      size_t length = symbols.match(rest);
      if (!length) {
        const auto ends = [&](size_t i) {
          const auto left = static_cast<unsigned char>(rest[i - 1]), right = static_cast<unsigned char>(rest[i]);
          return !is_continuation(right) && (!merger.joins(left, right) || symbols.match(rest.substr(i)));
        };
        for (length = 1; length < rest.size() && !ends(length);) ++length;
      }
      at += length;
    }
    const Exact exact(text);
    units.for_each(exact.view(), [&](size_t, size_t end) { found.push_back(end); });
    CHECK(found == expected);
  }
}

TEST(encoding_refuses_broken_models) {
  CHECK_THROWS(ModelError, Encoder(Model()));
  Model model = model_of({"a", "a"});
  CHECK_THROWS(ModelError, Encoder(model));
  CHECK_THROWS(ModelError, Encoder(model_of({""})));
  CHECK_THROWS(ModelError, Encoder(model_of({"\xFF"})));
  model = model_of({"a"});
  model.types[0] = PieceType::normal;
  CHECK_THROWS(ModelError, Encoder(model));
  model = model_of({"a"});
  model.types[2] = PieceType::unknown;
  CHECK_THROWS(ModelError, Encoder(model));
  model = model_of({"a"}, true);
  model.types[10] = PieceType::normal;
  CHECK_THROWS(ModelError, Encoder(model));
  for (const char* byte : {"<0x41", "<0xGG>", "0x4100", "<0X41>"}) {
    model = model_of({"a"}, true);
    model.pieces[2 + 0x41] = byte;
    CHECK_THROWS(ModelError, Encoder(model));
  }
}

struct Normalized {
  std::string text;
  std::vector<size_t> origins;
  bool operator==(const Normalized&) const = default;
};

Normalized normalize(const Model& model, std::string_view text) {
  const Exact exact(text);
  Normalized normalized;
  const Normalizer normalizer = make_normalizer(model);
  normalizer.normalize(exact.view(), normalized.text, &normalized.origins);
  std::string again = "left over";
  normalizer.normalize(exact.view(), again);
  CHECK_EQUAL(again, normalized.text);
  return normalized;
}

TEST(normalizing_without_rules) {
  Model model = model_of({});
  CHECK_EQUAL(normalize(model, "a▁\xFF"), {" a \uFFFD", {0, 0, 1, 4, 4, 4, 5}});
  CHECK_EQUAL(normalize(model, ""), {"", {0}});
  model.add_dummy_prefix = false;
  CHECK_EQUAL(normalize(model, " a"), {" a", {0, 1, 2}});
  model.escape_whitespaces = false;
  CHECK_EQUAL(normalize(model, "▁a"), {"▁a", {0, 0, 0, 3, 4}});
  model.add_dummy_prefix = model.treat_whitespace_as_suffix = true;
  CHECK_EQUAL(normalize(model, "a"), {"a ", {0, 1, 1}});
}

TEST(normalizing_removes_extra_spaces) {
  Model model = model_of({});
  model.remove_extra_whitespaces = true;
  CHECK_EQUAL(normalize(model, "  a   b  "), {" a b", {2, 2, 3, 6, 7}});
  CHECK_EQUAL(normalize(model, "   ").text, "");
  CHECK_EQUAL(normalize(model, "\xFF  ").text, " \uFFFD");
}

TEST(normalizing_by_rules) {
  Model model = model_of({}, false, {"AB"});
  model.add_dummy_prefix = false;
  model.charsmap = charsmap_of({{"A", "a"}, {"AA", "\u00E5"}, {"\u00C4", "\u00E4"}, {"x", ""}, {"\u2460", "(1)"}});
  CHECK_EQUAL(normalize(model, "A\u00C4z"), {"a\u00E4z", {0, 1, 1, 3, 4}});
  CHECK_EQUAL(normalize(model, "AAA").text, "\u00E5a");  // the longest rule
  CHECK_EQUAL(normalize(model, "xx").text, "");          // to nothing
  CHECK_EQUAL(normalize(model, "\u2460"), {"(1)", {0, 0, 0, 3}});
  CHECK_EQUAL(normalize(model, "ABA").text, "ABa");      // a symbol passes as it is
  CHECK_EQUAL(normalize(model, "\xC3").text, "\uFFFD");  // half of a rule
}

TEST(normalizing_by_damaged_rules) {
  const std::string good = charsmap_of({{"A", "a"}, {"\u00C4", "\u00E4"}});
  const auto build = [](const std::string& charsmap) {
    Model model = model_of({});
    model.charsmap = charsmap;
    return make_normalizer(model);
  };
  build(good);
  for (const size_t length :
       {size_t{1}, size_t{3}, size_t{4}, size_t{5}, size_t{1'000}, good.size() - 7, good.size() - 1}) {
    CHECK_THROWS(ModelError, build(good.substr(0, length)));
  }
  for (const uint32_t trie_bytes : {0U, 1U, 1'023U, 1'025U, 0x7FFFFC00U, 0xFFFFFC00U}) {
    std::string damaged = good;
    std::memcpy(damaged.data(), &trie_bytes, 4);
    CHECK_THROWS(ModelError, build(damaged));
  }
  // Some damage is not found when the rules are loaded. It must never lead to a read outside the rules.
  for (size_t at = 4; at + 1 < good.size(); at += 3) {
    Model model = model_of({});
    model.charsmap = good;
    model.charsmap[at] = '\xFF';
    normalize(model, "A\u00C4 aA\xFF");
  }
}

TEST(normalizing_rules_that_give_no_utf8) {
  Model model = model_of({"a", "\uFFFD", "▁"}, true);
  model.charsmap = charsmap_of({{"A", "\xFF\xE2"}});
  Ids ids;
  const Encoder encoder(model);
  encoder.encode("AaA", ids);
  CHECK(find_invalid_utf8(encoder.decode(ids)) == encoder.decode(ids).size());
}

std::string decode(const Encoder& encoder, const Pieces& pieces) {
  Ids ids;
  for (const std::string& piece : pieces) {
    const auto& all = encoder.model().pieces;
    ids.push_back(static_cast<uint32_t>(std::find(all.begin(), all.end(), piece) - all.begin()));
  }
  return encoder.decode(ids);
}

TEST(decoding) {
  const Encoder encoder(model_of(kAbc, true));
  CHECK_EQUAL(decode(encoder, {"▁ab", "c", "▁", "▁abab"}), "abc  abab");
  CHECK_EQUAL(decode(encoder, {"▁", "▁ab"}), " ab");
  CHECK_EQUAL(decode(encoder, {"<s>", "▁ab", "<s>", "▁ab"}), "ab ab");
  CHECK_EQUAL(decode(encoder, {"▁ab", "<unk>", "c"}), "ab \u2047 c");
  CHECK_EQUAL(decode(encoder, {"<0xC3>", "<0xA5>", "a", "<0xC3>", "b", "<0xE2>", "<0x96>"}),
              "\u00E5a\uFFFDb\uFFFD\uFFFD");
  CHECK_EQUAL(encoder.decode({}), "");
}

TEST(decoding_without_a_prefix) {
  Model model = model_of(kAbc);
  model.add_dummy_prefix = false;
  CHECK_EQUAL(decode(Encoder(model), {"▁ab", "▁ab"}), " ab ab");
  model.remove_extra_whitespaces = true;
  CHECK_EQUAL(decode(Encoder(model), {"▁ab", "▁ab"}), "ab ab");
}

TEST(decoding_ids_that_are_none) {
  const Encoder encoder(model_of({"a"}));
  for (const uint32_t id : {3U, 4U, 1'000'000U, UINT32_MAX}) CHECK_THROWS(std::out_of_range, encoder.decode({2, id}));
}

TEST(spans_are_places_in_the_text) {
  const Encoder encoder(model_of(kAbc, true));
  const std::string text = "ab a\u00E5b";
  std::vector<std::pair<size_t, size_t>> places;
  for (const TokenSpan& span : encoder.encode_spans(text)) places.emplace_back(span.begin, span.end);
  CHECK_EQUAL(places, {{0, 2}, {2, 3}, {3, 4}, {4, 4}, {4, 6}, {6, 7}});
}

}  // namespace
}  // namespace piecework
