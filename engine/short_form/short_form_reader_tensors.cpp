#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/short_form/own_words.h"
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
  const bool several = root_.find("launches").has_value();
  std::vector<std::string> shared;
  if (const auto place = several ? root_.find("arguments") : root_.at("arguments"))
    shared = arguments_of(*place, "arguments", 0);
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const auto own = several ? launches_[i].find("arguments") : std::nullopt;
    if (several && !own && shared.empty()) launches_[i].at("arguments");
    arguments_.push_back(own ? arguments_of(*own, fmt::format("launches[{}].arguments", i), i) : shared);
  }
  if (!task_.contains("outputs"))
    root_.find("arguments")
        .value_or(root_)
        .fail("no output: write one as \"y=out float[N]\", or \"inout\" where it is read, too");
  if (!scratch_.empty() && !root_.find("reference"))
    root_.fail("key 'reference' is missing: where there is scratch, a kernel without it computes the same");
}

std::vector<std::string> ShortFormReader::arguments_of(const JsonPlace& place, const std::string& author,
                                                       std::size_t launch) {
  std::vector<std::string> texts;
  for (const JsonPlace& item : place.items()) {
    const std::string here = fmt::format("{}[{}]", author, texts.size());
    family_origin(fmt::format("launches[{}].arguments[{}]", launch, texts.size()), here);
    const auto tensor = item.read_as(parse_tensor);
    if (tensor) {
      add_tensor(item, *tensor, here);
      texts.push_back(own_names_.at(tensor->name));
    } else {
      refuse_unknown_type(item);
      check_argument(item);
      texts.push_back(own_name(item.text()));
    }
  }
  return texts;
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
        check_argument(value);
      }
      Json filled = {{"value", own_name(tensor ? tensor->name : value.text())}};
      if (item.is_object()) filled.update(without_key(json_["constants"][symbol], "value"));
      constants_[symbol] = filled.size() == 1 ? filled["value"] : filled;
    }
  }
  if (!task_.contains("inputs")) task_["inputs"] = Json::array();
}

void ShortFormReader::check_argument(const JsonPlace& place) const {
  if (!own_names_.contains(std::string(trim(place.text())))) check_names(place, place.read_as(parse_argument));
}

void ShortFormReader::check_names(const JsonPlace& place, const ArgumentSpec& argument) const {
  if (argument.may_be_name && tensors_.contains(own_name(argument.text))) return;
  for (const FieldSpec& field : argument.fields)
    for (const Expression& component : field.components) scope_.check(place, component);
}

std::string ShortFormReader::own_name(const std::string& author) const {
  const auto found = own_names_.find(std::string(trim(author)));
  return found == own_names_.end() ? author : found->second;
}

void ShortFormReader::check_dims(const JsonPlace& place, const TensorNotation& tensor) const {
  for (const std::string& dim : tensor.dims) {
    const auto names = place.read_as([&](const std::string&) { return Expression::parse(dim).names(); });
    const auto gene = std::ranges::find_if(names, [&](const std::string& name) { return genes_.contains(name); });
    if (gene == names.end()) continue;
    place.fail(fmt::format(
        "the size of '{0}' cannot depend on the gene '{1}', since the task is the same for all genomes: make "
        "it as large as it ever is, or \"{0}=scratch {2}[{3}]\" with a second launch (\"launches\") that "
        "finishes",
        tensor.name, *gene, tensor.type, fmt::join(tensor.dims, ", ")));
  }
}

void ShortFormReader::add_scratch(const JsonPlace& place, const TensorNotation& tensor, const std::string& author) {
  const auto type = type_named(tensor.type);
  if (!type) place.fail(fmt::format("'{}' is no type{}", tensor.type, suggestion(tensor.type, type_names())));
  if (!tensor.strides.empty() || !tensor.scale.empty() || !tensor.zero_point.empty())
    place.fail("scratch has a type, dims, when(...), and :0 where it begins with zeros");
  if (!tensor.draw.empty() && tensor.draw != "0" && tensor.draw != "zeros")
    place.fail(fmt::format("scratch is not drawn: ':{}' may be ':0', zeros at the beginning", tensor.draw));
  std::vector<std::string> factors;
  for (const std::string& dim : tensor.dims) {
    scope_.check(place, place.read_as([&](const std::string&) { return Expression::parse(dim); }));
    factors.push_back("(" + dim + ")");
  }
  const int bits = bits_of(type->element) * static_cast<int>(type->components);
  Json json = {{"name", tensor.name},
               {"bytes", bits % 8 == 0 ? fmt::format("{} * {}", fmt::join(factors, " * "), bits / 8)
                                       : fmt::format("ceil_div({} * {}, 8)", fmt::join(factors, " * "), bits)}};
  if (!tensor.when.empty()) json["when"] = tensor.when;
  if (!tensor.draw.empty()) json["zeroed"] = true;
  scratch_.insert(tensor.name);
  family_origin(fmt::format("workspaces[{}]", family_["workspaces"].size()), author);
  family_["workspaces"].push_back(json);
}

void ShortFormReader::name_tensor(const JsonPlace& place, TensorNotation& tensor) {
  if (own_names_.contains(tensor.name))
    place.fail(fmt::format("'{0}' is declared twice: the second time its name \"{0}\" is enough", tensor.name));
  std::string name = tensor.name;
  while (is_taken_word(name) || genes_.contains(name) || options_.contains(name) || tensors_.contains(name))
    name += "_";
  own_names_[tensor.name] = name;
  tensors_.insert(name);
  tensor.name = name;
  for (std::string* other : {&tensor.scale, &tensor.zero_point, &tensor.any_of_equal}) {
    // What is declared later on may have another name, too.
    if (!own_names_.contains(*other) && is_taken_word(*other)) *other += "_";
    *other = own_name(*other);
  }
}

void ShortFormReader::add_tensor(const JsonPlace& place, TensorNotation tensor, const std::string& author) {
  name_tensor(place, tensor);
  if (tensor.is_scratch()) return add_scratch(place, tensor, author);
  if (genes_.contains(tensor.type))
    place.fail(fmt::format(
        "'{0}' is a gene, which a tensor's type cannot be: an option can, \"options\": {{\"{0}\": [\"float\", "
        "\"half\"]}}, a macro ({1}<{0}>), and each is a task of its own (--option {0}=f16)",
        tensor.type, kernel_.function.substr(0, kernel_.function.find('<'))));
  check_dims(place, tensor);
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
    const std::string own = own_name(key);
    const bool of_output =
        std::ranges::any_of(task_["outputs"], [&](const Json& output) { return output["name"] == own; });
    if (of_output && !value.is_object()) value.fail("the limits of an output are an object: {\"exact\": true}");
    if (!value.is_object()) {
      task_["limits"][key] = json_["limits"][key];
      continue;
    }
    std::vector<std::string> names;
    for (Json& output : task_["outputs"]) {
      names.push_back(output["name"]);
      if (names.back() != own) continue;
      task_origin(fmt::format("outputs[{}].limits", names.size() - 1), "limits." + key);
      output["limits"] = json_["limits"][key];
    }
    if (std::ranges::find(names, own) == names.end())
      value.fail(fmt::format("no output is called '{}'{}", key, suggestion(key, names)));
  }
}

}  // namespace evo
