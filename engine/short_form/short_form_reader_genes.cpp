#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/device/device_limits.h"
#include "engine/expression/json_value.h"
#include "engine/short_form/own_words.h"
#include "engine/short_form/short_form_reader.h"
#include "engine/short_form/t1.h"
#include "engine/source/kernel_functions.h"
#include "engine/source/text_template.h"
#include "engine/task/family.h"

// Genes, what restricts them, and the first genome that these allow.
namespace evo {
namespace {

/// Of "-DNAME=VALUE".
nlohmann::ordered_json macro_value(const std::string& text) {
  const auto number = number_in<std::int64_t>(text);
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(text);
}

/// A list, or Python's way to write one: "[2**i for i in range(6)]". Numbers ascend, as genes want them.
nlohmann::ordered_json values_json(const JsonPlace& place) {
  std::vector<Value> values;
  if (!place.is_list() && !std::holds_alternative<std::string>(place.value()))
    place.fail("expected a list of values: [32, 64]");
  if (place.is_list()) {
    for (const JsonPlace& item : place.items()) values.push_back(item.value());
  } else {
    values = place.read_as([](const std::string& text) { return t1_values(text); });
  }
  numbers_for_booleans(values);
  const bool fractions = std::ranges::any_of(values, [](const Value& v) { return std::holds_alternative<double>(v); });
  const bool numbers =
      std::ranges::all_of(values, [](const Value& v) { return std::holds_alternative<std::int64_t>(v); });
  if (numbers) {
    std::ranges::sort(values);
    values.erase(std::ranges::unique(values).begin(), values.end());
  }
  if (values.empty()) place.fail("at least one value is needed");
  if (fractions)
    for (Value& value : values) value = expr::to_string(value);
  return to_json<nlohmann::ordered_json>(values);
}

}  // namespace

void ShortFormReader::genes() {
  for (const char* key : {"genes", "tune_params"}) {
    const auto place = root_.find(key);
    if (!place) continue;
    if (!place->is_object()) {
      genes_from_file(*place);
      continue;
    }
    for (const auto& [name, gene] : place->members()) add_gene(name, gene, fmt::format("{}.{}", key, name));
  }
  for (const auto& [name, value] : compile_.macros)
    push_gene(root_.at("compiler_options"), {{"name", name}, {"values", Json::array({macro_value(value)})}},
              "compiler_options");
  if (!family_.contains("genes")) root_.fail("key 'genes' is missing: {\"block_size_x\": [32, 64, 128]}");
}

void ShortFormReader::add_gene(const std::string& name, const JsonPlace& place, const std::string& author) {
  if (place.is_object()) {
    Json gene = {{"name", name}};
    for (const auto& [key, value] : place.members()) {
      if (key != "values") gene[key] = to_json<Json>(value.value());
    }
    if (const auto values = place.find("values")) gene["values"] = values_json(*values);
    return push_gene(place, gene, author);
  }
  push_gene(place, {{"name", name}, {"values", values_json(place)}}, author);
}

void ShortFormReader::push_gene(const JsonPlace& place, const Json& gene, const std::string& author) {
  const std::string name = gene["name"];
  if (genes_.contains(name)) place.fail(fmt::format("gene '{}' is given twice", name));
  if (!is_identifier(name)) place.fail(fmt::format("'{}' cannot be a macro: it is not a name", name));
  if (is_cuda_word(name)) place.fail(fmt::format("'{}' cannot be a macro: it is a word of CUDA C++", name));
  if (std::ranges::find(parameters_, name) != parameters_.end())
    place.fail(fmt::format("the name '{}' is already that of a size", name));
  if (expr::is_reserved(name)) place.fail(fmt::format("'{}' is a word of the expression language", name));
  if (facts_of(DeviceLimits{}).contains(name))
    place.fail(fmt::format("'{}' is already a fact of the device in expressions: rename the macro", name));
  genes_.insert(name);
  scope_.add(name);
  family_origin(fmt::format("genes[{}]", family_["genes"].size()), author);
  family_["genes"].push_back(gene);
}

void ShortFormReader::genes_from_file(const JsonPlace& place) {
  const std::string file = place.text();
  std::string text;
  try {
    text = read_(file);
  } catch (const Error& error) {
    place.fail(error.what());
  }
  const JsonPlace other = place.read_as([&](const std::string&) { return JsonPlace::read({{file, text}}, file); });
  if (other.find("ConfigurationSpace")) {
    const Family family = read_t1(text, file);
    for (const Gene& gene : family.genes) {
      push_gene(place, {{"name", gene.name}, {"values", to_json<Json>(gene.alleles)}},
                fmt::format("genes: {}: {}", file, gene.name));
    }
    for (const Constraint& constraint : family.constraints)
      add_constraint({{"that", constraint.condition.text()}}, fmt::format("genes: {}: Conditions", file));
    return;
  }
  for (const auto& [name, gene] : other.at("tune_params").members())
    add_gene(name, gene, fmt::format("genes: {}: tune_params.{}", file, name));
  if (const auto restrictions = other.find("restrictions"))
    add_constraints(*restrictions, "genes: " + file + ": restrictions");
}

void ShortFormReader::restrictions() {
  for (const char* key : {"restrict", "restrictions"})
    if (const auto place = root_.find(key)) add_constraints(*place, key);
}

void ShortFormReader::add_constraints(const JsonPlace& place, const std::string& author) {
  if (!place.is_list()) {
    place.expression();
    return add_constraint({{"that", place.text()}}, author);
  }
  std::size_t number = 0;
  for (const JsonPlace& item : place.items()) {
    const std::string where = fmt::format("{}[{}]", author, number++);
    if (item.is_object()) {
      item.allow_only({"that", "why"});
      Json constraint = {{"that", item.at("that").text()}};
      if (const auto why = item.find("why")) constraint["why"] = why->text();
      add_constraint(constraint, where);
    } else {
      item.expression();
      add_constraint({{"that", item.text()}}, where);
    }
  }
}

void ShortFormReader::add_constraint(const Json& constraint, const std::string& author) {
  const std::string made = fmt::format("constraints[{}]", family_["constraints"].size());
  family_origin(made + ".that", author);
  constraints_.push_back({author, Expression::parse(constraint["that"].get<std::string>())});
  family_["constraints"].push_back(constraint);
}

void ShortFormReader::check_kernel_names() const {
  for (std::size_t i = 0; i < launched_.size(); ++i) {
    const auto& [file, function] = launched_[i];
    if (function.find("${") == std::string::npos) continue;
    const JsonPlace place = found(launches_[i], "kernel").value_or(root_);
    const TextTemplate name = place.read_as([&](const std::string&) { return TextTemplate::parse(function); });
    std::set<std::string> read;
    for (const auto& piece : name.pieces())
      if (const auto* expression = std::get_if<Expression>(&piece)) {
        scope_.check(place, *expression);
        for (const std::string& gene : expression->names()) read.insert(gene);
      }
    // Of several genes the first genome's values are a sample.
    std::vector<Bindings> tried = {first_};
    if (read.size() == 1 && genes_.contains(*read.begin()))
      for (const Value& value : values_of_gene(*read.begin())) tried.push_back({{*read.begin(), value}});
    const std::string source = sources_.whole_text(file);
    const std::vector<std::string> kernels = kernel_functions(source);
    for (const Bindings& values : tried) {
      std::string one = place.read_as([&](const std::string&) { return name.render(values); });
      one = one.substr(0, one.find('<'));
      one = one.substr(one.rfind(':') + 1);  // npos + 1 is the beginning
      if (std::ranges::find(kernels, one) == kernels.end() && source.find(one) == std::string::npos)
        place.fail(fmt::format("{} has no kernel {}{}", file, one, suggestion(one, kernels)));
    }
  }
}

std::vector<Value> ShortFormReader::values_of_gene(const std::string& name) const {
  std::vector<Value> values;
  for (const Json& gene : family_["genes"]) {
    if (gene["name"] != name || !gene.contains("values") || !gene["values"].is_array()) continue;
    for (const Json& value : gene["values"])
      values.push_back(value.is_boolean()  ? Value(value.get<bool>())
                       : value.is_string() ? Value(value.get<std::string>())
                                           : Value(value.get<std::int64_t>()));
  }
  return values;
}

/// In the order of the values, by those constraints that genes alone decide. It fixes what the reference needs of them.
void ShortFormReader::find_first_genome() {
  Bindings known = {{"threads_per_block", std::int64_t{DeviceLimits{}.threads_per_block}}};
  for (const auto& [name, values] : options_)
    if (!values.empty()) known[name] = values.front();
  std::vector<ListedGene> genes;
  for (const Json& gene : family_["genes"]) {
    genes.push_back({gene["name"], std::nullopt});
    if (!gene.contains("values") || !gene["values"].is_array()) continue;
    genes.back().values = values_of_gene(gene["name"]);
  }
  first_ = first_genome(file_, genes, constraints_, known);
}

}  // namespace evo
