#include "engine/expression/json_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/text.h"

namespace evo {
namespace {

using Json = nlohmann::ordered_json;

// The library keeps one of two equal keys silently; here they are an error.
Json parse_strictly(const std::string& text) {
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second) {
      throw usage_error(fmt::format("key '{}' is given twice", parsed.get<std::string>()));
    }
    return true;
  };
  return Json::parse(text, watch);
}

// "line 3, column 7" of a byte offset.
std::string line_and_column(const std::string& text, std::size_t offset) {
  const std::size_t end = std::min(offset, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  const auto line_start = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  const std::size_t column = line_start == std::string::npos ? end + 1 : end - line_start;
  return fmt::format("line {}, column {}", line, column);
}

/// ": unexpected ','; expected string literal" of the library's message; empty where that is no short text.
std::string what_is_wrong(const Json::parse_error& error) {
  constexpr std::size_t kMostCharacters = 100;
  const std::string_view message = error.what();
  const std::size_t dash = message.find(" - ");
  if (dash == std::string_view::npos) return {};
  const std::string_view reason = message.substr(dash + 3);
  const bool plain = std::ranges::all_of(reason, [](unsigned char c) { return c >= ' ' && c < 0x7f; });
  return plain && reason.size() <= kMostCharacters ? fmt::format(": {}", reason) : std::string();
}

}  // namespace

struct JsonPlace::Here {
  std::shared_ptr<const Json> document;  // keeps `value` alive
  const Json* value;
  std::string file;
  std::string path;

  Here step(const Json& child, const std::string& step) const { return {document, &child, file, path + step}; }
  Here member(const Json& child, std::string_view key) const {
    return step(child, fmt::format("{}{}", path.empty() ? "" : ".", key));
  }
};

JsonPlace::JsonPlace(Here here) : here_(std::make_shared<const Here>(std::move(here))) {}

JsonPlace JsonPlace::read(const SourceTree& tree, const std::string& file) {
  const auto found = tree.find(file);
  if (found == tree.end()) throw usage_error(fmt::format("{}: no such file in the templates folder", file));
  try {
    auto document = std::make_shared<const Json>(parse_strictly(found->second));
    const Json& root = *document;
    return JsonPlace({std::move(document), &root, file, ""});
  } catch (const Json::parse_error& error) {
    // The library counts bytes from 1.
    const std::size_t offset = error.byte > 0 ? error.byte - 1 : 0;
    throw usage_error(
        fmt::format("{}: {}: not valid JSON{}", file, line_and_column(found->second, offset), what_is_wrong(error)));
  } catch (const Json::exception&) {
    throw usage_error(fmt::format("{}: holds a number beyond what a double can", file));
  } catch (const Error& error) {
    throw usage_error(fmt::format("{}: {}", file, error.what()));
  }
}

void JsonPlace::fail(const std::string& reason) const {
  throw usage_error(here_->path.empty() ? fmt::format("{}: {}", here_->file, reason)
                                        : fmt::format("{}: {}: {}", here_->file, here_->path, reason));
}

void JsonPlace::wrong_type(std::string_view expected) const {
  std::string found = here_->value->is_object() ? "an object" : "a list";
  if (!here_->value->is_structured()) found = here_->value->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (found.size() > 40) found = found.substr(0, 40) + "...";
  fail(fmt::format("expected {}, not {}", expected, found));
}

void JsonPlace::allow_only(const std::vector<std::string_view>& keys) const {
  if (!here_->value->is_object()) wrong_type("an object");
  for (const auto& [key, value] : here_->value->items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      fail(fmt::format("unknown key '{}'{}", key, suggestion(key, {keys.begin(), keys.end()})));
    }
  }
}

std::optional<JsonPlace> JsonPlace::find(std::string_view key) const {
  if (!here_->value->is_object()) wrong_type("an object");
  const auto found = here_->value->find(std::string(key));
  if (found == here_->value->end()) return std::nullopt;
  return JsonPlace(here_->member(*found, key));
}

JsonPlace JsonPlace::at(std::string_view key) const {
  auto found = find(key);
  if (!found) fail(fmt::format("key '{}' is missing", key));
  return *found;
}

std::vector<std::pair<std::string, JsonPlace>> JsonPlace::members() const {
  if (!here_->value->is_object()) wrong_type("an object");
  std::vector<std::pair<std::string, JsonPlace>> result;
  for (const auto& [key, value] : here_->value->items()) {
    result.emplace_back(key, JsonPlace(here_->member(value, key)));
  }
  return result;
}

Bindings JsonPlace::values() const {
  Bindings result;
  for (const auto& [name, place] : members()) result[name] = place.value();
  return result;
}

std::vector<JsonPlace> JsonPlace::items() const {
  if (!here_->value->is_array()) wrong_type("a list");
  std::vector<JsonPlace> result;
  for (std::size_t i = 0; i < here_->value->size(); ++i) {
    result.push_back(JsonPlace(here_->step((*here_->value)[i], fmt::format("[{}]", i))));
  }
  return result;
}

bool JsonPlace::is_object() const {
  return here_->value->is_object();
}

std::vector<JsonPlace> JsonPlace::one_or_more() const {
  return is_list() ? items() : std::vector<JsonPlace>{*this};
}

bool JsonPlace::is_list() const {
  return here_->value->is_array();
}

std::string JsonPlace::text() const {
  if (!here_->value->is_string()) wrong_type("a string");
  return here_->value->get<std::string>();
}

std::int64_t JsonPlace::integer() const {
  if (!here_->value->is_number_integer()) wrong_type("an integer");
  if (here_->value->is_number_unsigned() && here_->value->get<std::uint64_t>() > INT64_MAX)
    wrong_type("an integer of 64 bits");
  return here_->value->get<std::int64_t>();
}

double JsonPlace::number() const {
  if (!here_->value->is_number() || !std::isfinite(here_->value->get<double>())) wrong_type("a number");
  return here_->value->get<double>();
}

double JsonPlace::number_if_any(std::string_view key) const {
  const std::optional<JsonPlace> place = find(key);
  const bool any = place && !place->here_->value->is_null();
  return any ? place->number() : std::numeric_limits<double>::quiet_NaN();
}

bool JsonPlace::boolean() const {
  if (!here_->value->is_boolean()) wrong_type("true or false");
  return here_->value->get<bool>();
}

Value JsonPlace::value() const {
  if (here_->value->is_boolean()) return here_->value->get<bool>();
  if (here_->value->is_string()) return text();
  if (here_->value->is_number_integer()) return integer();
  if (here_->value->is_number_float()) return number();
  wrong_type("a number, true, false or a string");
}

Expression JsonPlace::expression() const {
  if (here_->value->is_boolean()) return Expression::constant(here_->value->get<bool>());
  if (here_->value->is_number_integer()) return Expression::constant(integer());
  if (here_->value->is_number_float()) return Expression::constant(number());
  if (!here_->value->is_string()) wrong_type("an expression (a string)");
  try {
    return Expression::parse(text());
  } catch (const Error& error) {
    fail(error.what());
  }
}

void require_known(const JsonPlace& place, std::string_view what, const std::string& name,
                   const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end())
    place.fail(fmt::format("unknown {} '{}'{}", what, name, suggestion(name, names)));
}

}  // namespace evo
