// The texts of JSONL: one field of each line, which is a JSON object.
#pragma once

#include <optional>
#include <string_view>

#include "text/line_documents.hpp"

namespace piecework {

// The field of every line that is not blank, as columns of an Arrow array. Nothing unless every such line is an object
// with a text in the field, of 1 to `longest` bytes, and is plainly valid: a line that needs a closer look (broken,
// deeply nested, with half of a surrogate pair) is not judged here. `block` is valid UTF-8.
std::optional<LineDocuments> find_json_documents(std::string_view block, std::string_view field, size_t longest);

}  // namespace piecework
