// BLAKE2b with a key and a digest of 16 bytes (RFC 7693), for many short texts: the block of the key is hashed once,
// and with AVX2 four texts are hashed side by side.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace piecework {

class KeyedBlake2b {
 public:
  struct Digest {
    uint64_t low;   // bytes 0 to 7, little endian
    uint64_t high;  // bytes 8 to 15
  };

  explicit KeyedBlake2b(uint64_t key) : key_(key) {
    for (int i = 0; i < 8; ++i) keyed_[i] = kStart[i];
    // The parameters: a digest of 16 bytes, a key of 8, fanout 1, depth 1.
    keyed_[0] ^= 0x01010000u ^ 8u << 8 ^ 16u;
    start_ = keyed_;
    compress(keyed_, key_block(), kBlock, false);
  }

  Digest digest(std::string_view text) const {
    if (text.empty()) {
      State state = start_;
      compress(state, key_block(), kBlock, true);
      return {state[0], state[1]};
    }
    return finish(keyed_, kBlock, text);
  }

  // The digest of each text.
  std::vector<Digest> digests(const std::vector<std::string_view>& texts) const;

 private:
  static constexpr size_t kBlock = 128;
  static constexpr size_t kLanes = 4;
  struct State {
    uint64_t words[8];
    uint64_t& operator[](int i) { return words[i]; }
  };
  struct Block {
    uint64_t words[16];
  };
  static constexpr uint64_t kStart[8] = {0x6A09E667F3BCC908ULL, 0xBB67AE8584CAA73BULL, 0x3C6EF372FE94F82BULL,
                                         0xA54FF53A5F1D36F1ULL, 0x510E527FADE682D1ULL, 0x9B05688C2B3E6C1FULL,
                                         0x1F83D9ABFB41BD6BULL, 0x5BE0CD19137E2179ULL};
  // The order in which a round uses the words of the block; rounds 10 and 11 repeat the first two.
  static constexpr uint8_t kOrder[12][16] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
      {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
      {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
      {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
      {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};

  static Block load(const char* bytes) {
    static_assert(std::endian::native == std::endian::little);
    Block block;
    std::memcpy(block.words, bytes, kBlock);
    return block;
  }
  Block key_block() const { return {{key_}}; }

  static void mix(uint64_t& a, uint64_t& b, uint64_t& c, uint64_t& d, uint64_t x, uint64_t y) {
    a += b + x;
    d = std::rotr(d ^ a, 32);
    c += d;
    b = std::rotr(b ^ c, 24);
    a += b + y;
    d = std::rotr(d ^ a, 16);
    c += d;
    b = std::rotr(b ^ c, 63);
  }

  template <int round>
  static void mix_round(uint64_t* v, const uint64_t* m) {
    constexpr const uint8_t* s = kOrder[round];
    mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
    mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
    mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
    mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
    mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
    mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
    mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
    mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
  }

  // `hashed` is the number of bytes up to the end of this block. A text has fewer than 2⁶⁴.
  static void compress(State& state, const Block& block, uint64_t hashed, bool is_last) {
    uint64_t v[16];
    for (int i = 0; i < 8; ++i) v[i] = state[i], v[i + 8] = kStart[i];
    v[12] ^= hashed;
    if (is_last) v[14] = ~v[14];
    const uint64_t* m = block.words;
    mix_round<0>(v, m), mix_round<1>(v, m), mix_round<2>(v, m), mix_round<3>(v, m);
    mix_round<4>(v, m), mix_round<5>(v, m), mix_round<6>(v, m), mix_round<7>(v, m);
    mix_round<8>(v, m), mix_round<9>(v, m), mix_round<10>(v, m), mix_round<11>(v, m);
    for (int i = 0; i < 8; ++i) state[i] ^= v[i] ^ v[i + 8];
  }

  // Continues after `hashed` bytes with the rest of a text, which is not empty.
  static Digest finish(State state, uint64_t hashed, std::string_view rest) {
    for (; rest.size() > kBlock; rest.remove_prefix(kBlock)) {
      hashed += kBlock;
      compress(state, load(rest.data()), hashed, false);
    }
    char last[kBlock] = {};
    std::memcpy(last, rest.data(), rest.size());
    compress(state, load(last), hashed + rest.size(), true);
    return {state[0], state[1]};
  }

  std::vector<Digest> digests_in_lanes(const std::vector<std::string_view>& texts) const;
  // Compresses a block of each lane. `states` has word i of lane k at [i][k].
  static void compress_lanes(uint64_t (*states)[kLanes], const char* const* blocks, const uint64_t* hashed,
                             const uint64_t* is_last);

  uint64_t key_;
  State start_;  // before the block of the key
  State keyed_;  // after it
};

}  // namespace piecework
