#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace evo::cli {

/// Members stay in the order in which they are added.
using Json = nlohmann::ordered_json;

/// The beginning of a document that --json prints: the version of evo and the command. Each command adds its own
/// members; docs/json.md describes them.
Json json_document(const std::string& command);

/// The value, or null. `Document` stands for Json, which sources that call this know in full.
template <typename T, typename Document = Json>
Document or_null(const std::optional<T>& value) {
  return value ? Document(*value) : Document(nullptr);
}

/// A list of what `make` makes of each item: a function, or an object with one.
template <typename Item, typename Make, typename Document = Json>
requires std::is_class_v<Make> Document list_json(const std::vector<Item>& items, const Make& make) {
  Document list = Document::array();
  for (const Item& item : items) list.push_back(make(item));
  return list;
}
template <typename Item, typename Document = Json>
Document list_json(const std::vector<Item>& items, std::type_identity_t<Document (*)(const Item&)> make) {
  return list_json(items, [make](const Item& item) { return make(item); });
}

/// A whole document as text: indented, with a newline at its end. Bytes that are not UTF-8, as a compiler's log may
/// hold them, are replaced.
std::string json_text(const Json& json);

}  // namespace evo::cli
