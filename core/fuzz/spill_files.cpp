// Spill files: merging them gives the sums of the written rows. Damaged files are refused, or their keys are in order.
#include <unistd.h>

#include <cstdio>
#include <map>
#include <vector>

#include "count/spill_file.hpp"
#include "fuzz.hpp"

namespace piecework::tests {
namespace {

class TemporaryFile {
 public:
  TemporaryFile() {
    const int descriptor = mkstemp(path_.data());
    REQUIRE(descriptor >= 0);
    close(descriptor);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

  std::string read() const {
    const File file(std::fopen(path_.c_str(), "rb"));
    std::string content(1 << 16, '\0');
    content.resize(std::fread(content.data(), 1, content.size(), file.get()));
    return content;
  }
  void write(std::string_view content) const {
    const File file(std::fopen(path_.c_str(), "wb"));
    REQUIRE(std::fwrite(content.data(), 1, content.size(), file.get()) == content.size());
  }

 private:
  std::string path_ = "/tmp/piecework-fuzz-XXXXXX";
};

// The rows of merged files, which must come in order.
Counts merged(const std::vector<std::string>& paths) {
  Counts counts;
  std::string previous;
  SpillMerger merger(paths);
  for (bool first = true; merger.next(); first = false) {
    const std::string key(merger.key());
    REQUIRE(first || key > previous);
    counts[key] = merger.count();
    previous = key;
  }
  return counts;
}

}  // namespace

void fuzz_spill_files(Random& random) {
  Counts expected;
  std::vector<TemporaryFile> files(1 + random.below(4));
  std::vector<std::string> paths;
  for (const TemporaryFile& file : files) {
    Counts rows;
    for (uint64_t row = random.below(30); row > 0; --row) rows[any_text(random)] += 1 + random.below(1 << 20);
    SpillWriter writer(file.path());
    for (const auto& [key, count] : rows) {
      const size_t cut = random.below(key.size() + 1);
      writer.add(std::string_view(key).substr(0, cut), std::string_view(key).substr(cut), count);
      expected[key] += count;
    }
    writer.finish();
    REQUIRE(writer.rows() == rows.size());
    paths.push_back(file.path());
  }
  REQUIRE(merged(paths) == expected);

  std::string content = files[0].read();
  for (uint64_t changes = random.below(4); changes > 0 && !content.empty(); --changes) {
    content[random.below(content.size())] = static_cast<char>(random.below(256));
  }
  if (random.chance(3)) content.resize(random.below(content.size() + 1));
  if (random.chance(8)) content = random.bytes(random.below(100));
  files[0].write(content);
  try {
    merged(paths);
  } catch (const DamagedSpill&) {
  } catch (const CountOverflow&) {
  }
}

}  // namespace piecework::tests
