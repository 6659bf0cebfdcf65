#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/short_form/short_form_reader.h"
#include "engine/task/draw.h"

// The kernel's arguments and variables, and how much its outputs may err.
namespace evo {
namespace {

/// "flaot:0.5" is no expression.
void refuse_unknown_type(const JsonPlace& place) {
  const std::string text = place.text();
  const std::string type(trim(std::string_view(text).substr(0, text.find(':'))));
  if (text.find(':') == std::string::npos || !is_identifier(type) || type_named(type)) return;
  place.fail(fmt::format("'{}' is no type{}", type, suggestion(type, type_names())));
}

nlohmann::ordered_json without_key(nlohmann::ordered_json object, const char* key) {
  object.erase(key);
  return object;
}

/// float4[N] is float[N, 4].
void add_components(std::size_t components, std::vector<std::string>& dims, std::vector<std::string>& strides) {
  dims.push_back(std::to_string(components));
  if (strides.empty()) return;
  for (std::string& stride : strides) stride = fmt::format("({}) * {}", stride, components);
  strides.emplace_back("1");
}

}  // namespace

void ShortFormReader::arguments() {
  const JsonPlace place = root_.at("arguments");
  std::size_t number = 0;
  for (const JsonPlace& item : place.items()) {
    const std::string author = fmt::format("arguments[{}]", number);
    family_origin(fmt::format("launches[0].arguments[{}]", number++), author);
    const auto tensor = item.read_as(parse_tensor);
    if (tensor) {
      add_tensor(item, *tensor, author);
      arguments_.push_back(tensor->name);
    } else {
      refuse_unknown_type(item);
      check_names(item, item.read_as(parse_argument));
      arguments_.push_back(item.text());
    }
  }
  if (!task_.contains("outputs"))
    place.fail("no output: write one as \"y=out float[N]\", or \"inout\" where it is read, too");
}

void ShortFormReader::constants() {
  if (const auto place = root_.find("constants")) {
    for (const auto& [symbol, item] : place->members()) {
      const JsonPlace value = item.is_object() ? item.at("value") : item;
      const std::string author = "constants." + symbol;
      family_origin(author, author);
      const auto tensor = value.read_as(parse_tensor);
      if (tensor) {
        add_tensor(value, *tensor, author);
      } else {
        check_names(value, value.read_as(parse_argument));
      }
      Json filled = {{"value", tensor ? tensor->name : value.text()}};
      if (item.is_object()) filled.update(without_key(json_["constants"][symbol], "value"));
      constants_[symbol] = filled.size() == 1 ? filled["value"] : filled;
    }
  }
  if (!task_.contains("inputs")) task_["inputs"] = Json::array();
}

void ShortFormReader::check_names(const JsonPlace& place, const ArgumentSpec& argument) const {
  if (argument.may_be_name && tensors_.contains(argument.text)) return;
  for (const FieldSpec& field : argument.fields)
    for (const Expression& component : field.components) scope_.check(place, component);
}

void ShortFormReader::add_tensor(const JsonPlace& place, const TensorNotation& tensor, const std::string& author) {
  tensors_.insert(tensor.name);
  Json json = {{"name", tensor.name}};
  std::vector<std::string> dims = tensor.dims, strides = tensor.strides;
  const auto type = type_named(tensor.type);
  const bool floating = !type || is_floating(type->element);
  if (is_type_option(tensor.type)) {
    json["dtype"] = tensor.type;
  } else {
    if (options_.contains(tensor.type))
      place.fail(fmt::format("option '{}' has values that are no types", tensor.type));
    if (!type) place.fail(fmt::format("'{}' is no type{}", tensor.type, suggestion(tensor.type, type_names())));
    if (floating && !tensor.any_of_equal.empty())
      place.fail(fmt::format("any_of_equal is of indices, not of {}", tensor.type));
    json["dtype"] = name_of(type->element);
    if (type->components > 1) add_components(type->components, dims, strides);
  }
  if (tensor.is_output()) choose_reference_type(place, tensor, type ? type->element : DType::f16);
  json["dims"] = dims;
  if (!strides.empty()) json["strides"] = strides;
  for (const auto& [key, value] : {std::pair("scale", &tensor.scale), std::pair("zero_point", &tensor.zero_point),
                                   std::pair("when", &tensor.when), std::pair("any_of_equal", &tensor.any_of_equal)})
    if (!value->empty()) json[key] = *value;
  if (tensor.direction == "inout") json["inout"] = true;
  if (!tensor.draw.empty()) {
    const Draw draw = place.read_as([&](const std::string&) { return parse_draw(tensor.draw, floating); });
    json["draw"] = draw.kind == DrawKind::file ? "@" + take_drawn_file(place, draw.path) : tensor.draw;
  }
  const char* list = tensor.is_output() ? "outputs" : "inputs";
  task_origin(fmt::format("{}[{}]", list, task_[list].size()), author);
  task_[list].push_back(json);
}

void ShortFormReader::choose_reference_type(const JsonPlace& place, const TensorNotation& tensor, DType dtype) {
  if (!tensor.scale.empty()) {
    if (!root_.find("reference"))
      place.fail("a quantised output needs a 'reference', which writes its real values as float");
    return;
  }
  if (is_floating(dtype) && dtype != DType::f32 && dtype != DType::f64) typed_outputs_ = true;
}

std::string ShortFormReader::take_drawn_file(const JsonPlace& place, const std::string& path) {
  if (path.starts_with('/') || path.find("..") != std::string::npos)
    place.fail(fmt::format("'{}': a drawn file stands next to {}", path, file_));
  const std::string inside = path.ends_with(".npy") || path.ends_with(".bin") ? path : path + ".bin";
  try {
    form_.files[folder_ + inside] = read_(path);
  } catch (const Error& error) {
    place.fail(error.what());
  }
  return inside;
}

void ShortFormReader::limits() {
  const auto place = root_.find("limits");
  if (!place) return;
  for (const auto& [key, value] : place->members()) {
    const bool of_output =
        std::ranges::any_of(task_["outputs"], [&](const Json& output) { return output["name"] == key; });
    if (of_output && !value.is_object()) value.fail("the limits of an output are an object: {\"exact\": true}");
    if (!value.is_object()) {
      task_["limits"][key] = json_["limits"][key];
      continue;
    }
    std::vector<std::string> names;
    for (Json& output : task_["outputs"]) {
      names.push_back(output["name"]);
      if (names.back() != key) continue;
      task_origin(fmt::format("outputs[{}].limits", names.size() - 1), "limits." + key);
      output["limits"] = json_["limits"][key];
    }
    if (std::ranges::find(names, key) == names.end())
      value.fail(fmt::format("no output is called '{}'{}", key, suggestion(key, names)));
  }
}

}  // namespace evo
