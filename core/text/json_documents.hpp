// The texts of JSONL: one field of each line, which is a JSON object.
#pragma once

#include <optional>
#include <string_view>

#include "text/line_documents.hpp"

namespace piecework {

// Returns the field of every line that is not blank, as columns of an Arrow array. Each of these lines must be a
// plainly valid object with a text of 1 to `longest` bytes in the field. If any line needs a closer look (it is broken,
// deeply nested, or has half of a surrogate pair), returns nothing. `block` is valid UTF-8.
std::optional<LineDocuments> find_json_documents(std::string_view block, std::string_view field, size_t longest);

}  // namespace piecework
