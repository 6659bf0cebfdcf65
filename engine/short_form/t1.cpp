#include "engine/short_form/t1.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/base/text.h"

namespace evo {
namespace {

constexpr std::size_t kMostValues = 100'000;  // of one parameter

using Json = nlohmann::ordered_json;

bool is_fraction(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  std::strtod(copy.c_str(), &end);
  return !copy.empty() && end == copy.c_str() + copy.size() && copy.find_first_of(".eE") != std::string::npos &&
         copy.find_first_of("xX") == std::string::npos;
}

Value element(std::string_view text, const Bindings& known) {
  if (is_fraction(text)) return std::string(text);
  return Expression::parse(text).evaluate(known);
}

std::vector<Value> list(std::string_view text);

std::vector<Value> range(std::string_view arguments) {
  std::vector<std::int64_t> bounds;
  for (const std::string_view part : split_outside_brackets(arguments, ","))
    bounds.push_back(Expression::parse(part).evaluate_int({}));
  if (bounds.empty() || bounds.size() > 3)
    throw usage_error(fmt::format("range({}): expected 1 to 3 numbers", arguments));
  const std::int64_t first = bounds.size() == 1 ? 0 : bounds[0];
  const std::int64_t end = bounds.size() == 1 ? bounds[0] : bounds[1];
  const std::int64_t step = bounds.size() == 3 ? bounds[2] : 1;
  if (step == 0) throw usage_error(fmt::format("range({}): a step of 0", arguments));
  std::vector<Value> values;
  for (std::int64_t value = first; step > 0 ? value < end : value > end; value += step) {
    if (values.size() == kMostValues) throw usage_error(fmt::format("range({}): too many values", arguments));
    values.emplace_back(value);
  }
  return values;
}

// "EXPRESSION for NAME in LIST", or with "if CONDITION" behind.
std::vector<Value> comprehension(std::string_view head, std::string_view tail) {
  const auto in = split_outside_brackets(tail, " in ");
  if (in.size() != 2 || !is_identifier(in[0]))
    throw usage_error(fmt::format("expected 'NAME in LIST' after 'for', not '{}'", tail));
  const auto filter = split_outside_brackets(in[1], " if ");
  std::vector<Value> values;
  for (Value& item : list(filter[0])) {
    const Bindings known = {{std::string(in[0]), std::move(item)}};
    if (filter.size() > 1 && !Expression::parse(filter[1]).evaluate_bool(known)) continue;
    values.push_back(element(head, known));
  }
  return values;
}

std::vector<Value> bracketed(std::string_view inside) {
  if (const auto parts = split_outside_brackets(inside, " for "); parts.size() == 2)
    return comprehension(parts[0], parts[1]);
  std::vector<Value> values;
  if (trim(inside).empty()) return values;
  for (const std::string_view part : split_outside_brackets(inside, ",")) {
    if (!part.empty()) values.push_back(element(part, {}));
  }
  return values;
}

std::vector<Value> list(std::string_view text) {
  std::vector<Value> all;
  for (const std::string_view term : split_outside_brackets(text, "+")) {
    std::vector<Value> values;
    if (term.starts_with("[") && term.ends_with("]"))
      values = bracketed(term.substr(1, term.size() - 2));
    else if (term.starts_with("list(") && term.ends_with(")"))
      values = list(term.substr(5, term.size() - 6));
    else if (term.starts_with("range(") && term.ends_with(")"))
      values = range(term.substr(6, term.size() - 7));
    else if (term.starts_with("(") && term.ends_with(")"))
      values = bracketed(term.substr(1, term.size() - 2));
    else
      throw usage_error(fmt::format(
          "expected a list such as [1, 2, 4], list(range(1, 9)) or [2**i for i in range(4)], not '{}'", term));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

Gene gene_of(const std::string& name, const std::string& type, std::vector<Value> values) {
  numbers_for_booleans(values);
  Gene gene;
  gene.name = name;
  gene.kind = type == "float" ? Gene::Kind::number : kind_of(values);
  if (is_ordered(gene)) {
    std::stable_sort(values.begin(), values.end(),
                     [](const Value& a, const Value& b) { return expr::decimal_of(a) < expr::decimal_of(b); });
  } else {
    std::sort(values.begin(), values.end());
  }
  values.erase(std::unique(values.begin(), values.end()), values.end());
  gene.alleles = std::move(values);
  return gene;
}

std::string text_at(const Json& object, const char* key, const std::string& where) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) throw usage_error(fmt::format("{}: no {}", where, key));
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string without_case(std::string_view key) {
  std::string plain;
  for (const char c : key)
    if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

std::string usual_key(const std::string& key) {
  static const std::map<std::string, std::string> kKeys = [] {
    std::map<std::string, std::string> keys;
    for (const char* name : {"ConfigurationSpace",
                             "TuningParameters",
                             "Name",
                             "Type",
                             "Values",
                             "Default",
                             "Conditions",
                             "Expression",
                             "Parameters",
                             "KernelSpecification",
                             "Language",
                             "KernelName",
                             "KernelFile",
                             "KernelTypeNames",
                             "CompilerOptions",
                             "GlobalSizeType",
                             "GlobalSize",
                             "LocalSize",
                             "ProblemSize",
                             "GridDivX",
                             "GridDivY",
                             "GridDivZ",
                             "SharedMemory",
                             "Arguments",
                             "ReferenceArguments",
                             "Stream",
                             "Device",
                             "Profiling",
                             "SimulationInput",
                             "BenchmarkName",
                             "BenchmarkPath",
                             "BenchmarkConfig",
                             "Misc",
                             "MemoryType",
                             "MemType",
                             "AccessType",
                             "Size",
                             "TypeSize",
                             "FillType",
                             "FillValue",
                             "DataSource",
                             "RandomSeed",
                             "Output",
                             "X",
                             "Y",
                             "Z"})
      keys[without_case(name)] = name;
    return keys;
  }();
  const auto found = kKeys.find(without_case(key));
  return found == kKeys.end() ? key : found->second;
}

Json with_usual_keys(const Json& json) {
  if (!json.is_structured()) return json;
  Json made = json.is_array() ? Json::array() : Json::object();
  for (const auto& [key, value] : json.items()) {
    if (json.is_array()) {
      made.push_back(with_usual_keys(value));
      continue;
    }
    const std::string name = usual_key(key);
    made[json.contains(name) ? key : name] = name == "BenchmarkConfig" ? value : with_usual_keys(value);
  }
  return made;
}

}  // namespace

void numbers_for_booleans(std::vector<Value>& values) {
  const auto is_whole = [](const Value& value) { return std::holds_alternative<std::int64_t>(value); };
  const auto fits = [&](const Value& value) { return is_whole(value) || std::holds_alternative<bool>(value); };
  if (!std::ranges::any_of(values, is_whole) || !std::ranges::all_of(values, fits)) return;
  for (Value& value : values)
    if (const bool* truth = std::get_if<bool>(&value)) value = std::int64_t{*truth};
}

std::vector<Value> t1_values(std::string_view text) {
  return list(text);
}

std::string usual_keys_of_t1(const std::string& text) {
  try {
    require_shallow_json(text, "");
  } catch (const Error&) {
    return text;  // Whoever reads it says so.
  }
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return text;
  const Json usual = with_usual_keys(json);
  return usual == json ? text : usual.dump();
}

Family read_t1(std::string_view text, const std::string& name) {
  require_shallow_json(text, name);
  const Json root = Json::parse(usual_keys_of_t1(std::string(text)), nullptr, false);
  if (root.is_discarded()) throw usage_error(fmt::format("{}: malformed JSON", name));
  const auto space = root.is_object() ? root.find("ConfigurationSpace") : root.end();
  if (!root.is_object() || space == root.end() || !space->is_object() || !space->contains("TuningParameters") ||
      !(*space)["TuningParameters"].is_array())
    throw usage_error(fmt::format("{}: no T1 file: ConfigurationSpace.TuningParameters is missing", name));
  Family family;
  family.name = name;
  for (const Json& parameter : (*space)["TuningParameters"]) {
    const std::string gene = text_at(parameter, "Name", fmt::format("{}: parameter {}", name, family.genes.size() + 1));
    const std::string where = fmt::format("{}: parameter {}", name, gene);
    if (family.gene(gene)) throw usage_error(fmt::format("{}: given twice", where));
    try {
      family.genes.push_back(
          gene_of(gene, text_at(parameter, "Type", where), t1_values(text_at(parameter, "Values", where))));
    } catch (const Error& error) {
      throw usage_error(fmt::format("{}: {}", where, error.what()));
    }
    if (family.genes.back().alleles.empty()) throw usage_error(fmt::format("{}: no values", where));
  }
  if (!space->contains("Conditions")) return family;
  for (const Json& condition : (*space)["Conditions"]) {
    const std::string where = fmt::format("{}: condition {}", name, family.constraints.size() + 1);
    const std::string expression = text_at(condition, "Expression", where);
    try {
      family.constraints.push_back({Expression::parse(expression), ""});
    } catch (const Error& error) {
      throw usage_error(fmt::format("{}: {}", where, error.what()));
    }
    for (const std::string& read : family.constraints.back().condition.names()) {
      if (!family.gene(read))
        throw usage_error(fmt::format("{}: '{}' reads unknown name '{}'", where, expression, read));
    }
  }
  return family;
}

}  // namespace evo
