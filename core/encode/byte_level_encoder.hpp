// Text to ids for byte-level BPE, with the ids that tokenizers and tiktoken give.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "encode/encoder.hpp"
#include "pretokenize/pre_tokenizer.hpp"
#include "system/huge_array.hpp"
#include "text/hash.hpp"

namespace piecework {

struct ByteMerge {
  uint32_t left, right, merged;  // ids
};

struct ByteLevelModel {
  std::vector<std::string> tokens;  // by id, as bytes; empty where text never becomes that id
  // By rank. Without merges a token's id is its rank, and any two neighbours that spell a token are merged to it, as
  // tiktoken does.
  std::optional<std::vector<ByteMerge>> merges;
  bool whole_pre_tokens = false;  // a pre-token that is a token becomes that token without merging
};

class ByteLevelEncoder {
 public:
  // Throws ModelError if a byte is no token, or a merge does not spell its token. Without a pre-tokenizer each text is
  // one pre-token.
  ByteLevelEncoder(ByteLevelModel model, std::optional<PreTokenizer> pre_tokenizer);
  ~ByteLevelEncoder();
  ByteLevelEncoder(const ByteLevelEncoder&) = delete;
  ByteLevelEncoder& operator=(const ByteLevelEncoder&) = delete;

  // Ids as Encoder gives them. Invalid UTF-8 counts as one U+FFFD for each bad byte.
  std::vector<Encoder::Batch> encode_batch(const std::vector<std::string_view>& texts, bool known_valid,
                                           unsigned threads) const;
  // Appends the ids of one pre-token, which need not be UTF-8.
  void encode_pre_token(std::string_view pre_token, std::vector<uint32_t>& ids) const;
  // The same by merging alone, also where the pre-token is a token. It must not be empty.
  void merge(std::string_view pre_token, std::vector<uint32_t>& ids) const;

 private:
  struct Scratch;
  // A pair of ids and the merge of it.
  struct Rule {
    uint64_t pair = UINT64_MAX;
    uint32_t rank = UINT32_MAX, merged = 0;
  };

  void add_rules(const ByteLevelModel& model);
  void add_rules_of_splits(const ByteLevelModel& model);
  void put_rules(const std::vector<Rule>& rules);
  const Rule* find(uint32_t left, uint32_t right) const;
  void encode_text(std::string_view text, Scratch& scratch, std::vector<uint32_t>& ids) const;
  void encode_pre_token(std::string_view pre_token, const char* limit, Scratch& scratch,
                        std::vector<uint32_t>& ids) const;
  void merge_few(std::string_view pre_token, std::vector<uint32_t>& ids) const;
  void merge_many(std::string_view pre_token, std::vector<uint32_t>& ids) const;

  std::optional<PreTokenizer> pre_tokenizer_;
  std::array<uint32_t, 256> byte_ids_;
  std::unordered_map<std::string, uint32_t, HashBytes, std::equal_to<>> ids_;  // of tokens, if pre-tokens are looked up
  HugeArray<Rule> rules_;                                                      // open addressing
  uint64_t mask_ = 0;
  std::vector<uint64_t> filter_;  // a bit for each rule: most pairs have none
  // The merge of each two bytes, which are the first look-ups of every pre-token.
  std::vector<Rule> byte_rules_;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace piecework
