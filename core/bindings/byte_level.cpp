// Encoding with byte-level BPE.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/ids.hpp"
#include "bindings/packed_ids.hpp"
#include "bindings/text.hpp"
#include "encode/byte_level_encoder.hpp"
#include "encode/byte_level_tracer.hpp"

namespace piecework {
namespace {

using Merges = std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>;

ByteLevelModel model_of(const std::vector<nb::bytes>& tokens, const std::optional<Merges>& merges,
                        bool whole_pre_tokens) {
  ByteLevelModel model;
  model.tokens.reserve(tokens.size());
  for (const nb::bytes& token : tokens) model.tokens.emplace_back(token.c_str(), token.size());
  if (merges) {
    model.merges.emplace();
    for (const auto& [left, right, merged] : *merges) model.merges->push_back({left, right, merged});
  }
  model.whole_pre_tokens = whole_pre_tokens;
  return model;
}

// Whether each text, as one pre-token, becomes a single token, whose id is the index of the text.
Array<bool> whole_tokens(const ByteLevelEncoder& encoder, const std::vector<nb::bytes>& texts) {
  std::vector<uint8_t> whole(texts.size());
  ByteLevelTracer tracer(encoder.merger());
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].size()) continue;
    tracer.trace({texts[i].c_str(), texts[i].size()});
    whole[i] = tracer.tokens().size() == 1 && tracer.tokens()[0].id == i;
  }
  return to_array<bool>(std::move(whole), {texts.size()});
}

// The merges of a pre-token in the order in which they happen: begin, middle, end, rank, from and id of each.
auto merges_of(const ByteLevelEncoder& encoder, nb::bytes pre_token) {
  ByteLevelTracer tracer(encoder.merger());
  tracer.trace({pre_token.c_str(), pre_token.size()});
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>> merges;
  for (const auto& [begin, middle, end, rank, from, id] : tracer.merges()) {
    merges.emplace_back(begin, middle, end, rank, from, id);
  }
  return merges;
}

}  // namespace

void bind_byte_level(nb::module_& m) {
  nb::class_<ByteLevelEncoder>(m, "ByteLevelEncoder")
      .def(
          "__init__",
          [](ByteLevelEncoder* self, const std::vector<nb::bytes>& tokens, const std::optional<Merges>& merges,
             bool whole_pre_tokens, const PreTokenizer* pre_tokenizer) {
            ByteLevelModel model = model_of(tokens, merges, whole_pre_tokens);
            nb::gil_scoped_release unlocked;
            new (self) ByteLevelEncoder(std::move(model), pre_tokenizer ? std::optional(*pre_tokenizer) : std::nullopt);
          },
          nb::arg("tokens"), nb::kw_only(), nb::arg("merges").none(), nb::arg("whole_pre_tokens"),
          nb::arg("pre_tokenizer").none())
      .def("encode_batch", &encode_batch<ByteLevelEncoder>, nb::arg("texts"), nb::arg("threads"))
      .def("encode_packed", &encode_packed<ByteLevelEncoder>, nb::arg("texts"), nb::arg("packers"), nb::arg("threads"))
      .def("whole_tokens", &whole_tokens, nb::arg("tokens"))
      .def("merges", &merges_of, nb::arg("pre_token"));
}

}  // namespace piecework
