// Text to ids for byte-level BPE, with the ids that tokenizers and tiktoken give.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "encode/byte_level_merger.hpp"
#include "encode/text_batches.hpp"
#include "pretokenize/pre_tokenizer.hpp"
#include "system/scratch_pool.hpp"

namespace piecework {

class ByteLevelEncoder {
 public:
  // Throws ModelError as ByteLevelMerger does. Without a pre-tokenizer each text is one pre-token.
  ByteLevelEncoder(const ByteLevelModel& model, std::optional<PreTokenizer> pre_tokenizer);
  ~ByteLevelEncoder();
  ByteLevelEncoder(const ByteLevelEncoder&) = delete;
  ByteLevelEncoder& operator=(const ByteLevelEncoder&) = delete;

  // Ids as Encoder gives them. Invalid UTF-8 counts as one U+FFFD for each bad byte.
  std::vector<IdBatch> encode_batch(const TextGroups& texts, unsigned threads) const;
  void encode_groups(const TextGroups& texts, unsigned threads, const TakeBatch& take) const;
  // Appends the ids of one pre-token, which need not be UTF-8.
  void encode_pre_token(std::string_view pre_token, std::vector<uint32_t>& ids) const;
  // The same by merging alone, also if the pre-token is a token. The pre-token must not be empty.
  void merge(std::string_view pre_token, std::vector<uint32_t>& ids) const;

  const ByteLevelMerger& merger() const { return merger_; }

 private:
  struct Scratch;

  void encode_text(std::string_view text, Scratch& scratch, std::vector<uint32_t>& ids) const;

  std::optional<PreTokenizer> pre_tokenizer_;
  ByteLevelMerger merger_;

  mutable ScratchPool<Scratch> scratches_;
};

}  // namespace piecework
