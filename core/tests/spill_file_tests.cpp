// Spill files: writing, merging, damaged files.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "check.hpp"
#include "count/document_counter.hpp"
#include "count/spill_file.hpp"
#include "count/word_forms.hpp"
#include "words.hpp"

namespace piecework {
namespace {

using namespace tests;

class Folder {
 public:
  Folder() { std::filesystem::create_directory(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("spill_file_tests-" + std::to_string(getpid()));
};

void write(const std::string& path, const Counts& counts) {
  SpillWriter writer(path);
  for (const auto& [key, count] : counts) {
    const size_t middle = key.size() / 2;
    writer.add(std::string_view(key).substr(0, middle), std::string_view(key).substr(middle), count);
  }
  writer.finish();
}

// Keys must come in order, and each once.
Counts merged(const std::vector<std::string>& paths) {
  SpillMerger merger(paths);
  Counts counts;
  while (merger.next()) {
    CHECK(counts.empty() || counts.rbegin()->first < merger.key());
    counts.emplace_hint(counts.end(), merger.key(), merger.count());
  }
  return counts;
}

TEST(spill_files_add_up) {
  const Folder folder;
  Random random(3);
  for (size_t files = 0; files < 8; ++files) {
    Counts expected;
    std::vector<std::string> paths;
    for (size_t file = 0; file < files; ++file) {
      Counts counts;
      for (size_t n = random.below(3'000); n > 0; --n) {
        std::string key(random.below(3) * 8, 'a');
        for (size_t more = random.below(6); more > 0; --more) key += "ab\xFF"[random.below(4)];  // the last is NUL
        counts[key] = random.chance(10) ? random.below(UINT64_MAX >> 3) : random.below(300);
      }
      if (random.chance(2)) counts[std::string(200'000, static_cast<char>('a' + file % 2))] = 1;  // several buffers
      for (const auto& [key, count] : counts) expected[key] += count;
      paths.push_back(folder.file(std::to_string(file)));
      write(paths.back(), counts);
    }
    CHECK(merged(paths) == expected);
    merge_spill_files(paths, folder.file("all"));
    CHECK(merged({folder.file("all")}) == expected);
  }
}

TEST(spill_files_overflow_is_an_error) {
  const Folder folder;
  write(folder.file("most"), {{"a", UINT64_MAX}});
  write(folder.file("one"), {{"a", 1}});
  CHECK_EQUAL(merged({folder.file("most")}), {{"a", UINT64_MAX}});
  CHECK_THROWS(CountOverflow, merged({folder.file("most"), folder.file("one")}));
}

TEST(spill_files_of_a_counter) {
  const Folder folder;
  DocumentCounter counter;
  CHECK_EQUAL(counter.write_training(folder.file("none")), 0);
  CHECK(!std::filesystem::exists(folder.file("none")));
  counter.add_training({"en till en"}, true, 2);
  counter.add_evaluation({"en, två"}, {7}, "");
  CHECK_EQUAL(counter.write_training(folder.file("train")), 3);
  CHECK_EQUAL(merged({folder.file("train")}), {{"en", 2}, {"▁en", 2}, {"▁till", 2}});
  CHECK_EQUAL(counter.write_evaluation(true, folder.file("plain")), 2);
  CHECK_EQUAL(merged({folder.file("plain")}), {{std::string("\7\0 två", 7), 1}, {"\7\1en", 1}});
  const CountedUnit unit = DocumentCounter::unit_from_key("\7\1en", 5);
  CHECK(unit.bucket == 7 && unit.context == UnitContext::kOpens && unit.bytes == "en" && unit.count == 5);
  CHECK_EQUAL(counter.write_training(folder.file("again")), 0);
}

TEST(word_forms_come_together) {
  const Folder folder;
  Random random(5);
  for (size_t files = 0; files < 5; ++files) {
    std::map<std::string, std::pair<uint64_t, uint64_t>> expected, found;
    std::vector<std::string> opening, other;
    for (size_t file = 0; file < files; ++file) {
      WordTable table;
      for (size_t n = random.below(300); n > 0; --n) {
        std::string word(random.below(3) * 8, 'a');
        for (size_t more = random.below(4); more > 0; --more) word += "ab\xFF"[random.below(4)];  // the last is NUL
        const bool opens_line = random.chance(2);
        table.add(word, opens_line, n);
        (opens_line ? expected[word].first : expected[word].second) += n;
      }
      opening.push_back(folder.file("opening" + std::to_string(file)));
      other.push_back(folder.file("other" + std::to_string(file)));
      write_word_forms(table, opening.back(), other.back());
    }
    WordFormMerger merger(opening, other);
    while (merger.next()) {
      CHECK(found.empty() || found.rbegin()->first < merger.word());
      found[std::string(merger.word())] = {merger.opening_count(), merger.other_count()};
    }
    CHECK(found == expected);
    CHECK(!merger.next());
  }
}

TEST(spill_files_damaged) {
  const Folder folder;
  const std::string path = folder.file("spill");
  Random random(4);
  for (int round = 0; round < 3'000; ++round) {
    std::ofstream(path, std::ios::binary) << random.bytes(random.below(60));
    try {
      SpillMerger merger({path});
      while (merger.next()) CHECK(merger.key().size() < 60 * 60);
    } catch (const DamagedSpill&) {
    } catch (const CountOverflow&) {
    }
  }
  CHECK_THROWS(std::system_error, SpillReader(folder.file("missing")));
  CHECK_THROWS(std::system_error, SpillWriter(folder.file("missing/spill")));
}

}  // namespace
}  // namespace piecework
