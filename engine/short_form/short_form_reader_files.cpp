#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "engine/base/comments.h"
#include "engine/base/dtype.h"
#include "engine/base/rounding.h"
#include "engine/base/text.h"
#include "engine/device/device_limits.h"
#include "engine/short_form/json_layout.h"
#include "engine/short_form/short_form_reader.h"
#include "engine/short_form/substitution.h"
#include "engine/source/kernel_functions.h"
#include "engine/source/preprocessor_lines.h"
#include "engine/task/family.h"

// The files of the folder: kernel.cu, reference.cu, family.json, task.json.
namespace evo {
namespace {

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_identifier_character(text[at - 1])) &&
        (end == text.size() || !is_identifier_character(text[end])))
      return true;
  }
  return false;
}

/// "block = 32;" of a line "constexpr int block = 32;", empty for others.
std::string_view declared_variable(std::string_view line) {
  line = trim(line);
  bool typed = false;
  for (std::string_view type : {"static ", "const ", "constexpr ", "unsigned ", "int ", "float ", "bool "}) {
    if (!line.starts_with(type)) continue;
    typed = type == "int " || type == "unsigned " || type == "float " || type == "bool ";
    line = trim(line.substr(type.size()));
  }
  return typed && line.find('=') != line.npos ? line : std::string_view();
}

/// Codes of floats are rounded: one of the regimes has ties, whatever the file names. `json`: the task. A tensor whose
/// dtype is an option's does not count.
void add_ties(nlohmann::ordered_json& json) {
  const auto fixed_dtype = [&](const auto& tensor) -> std::optional<DType> {
    const std::string dtype = tensor["dtype"];
    if (json.contains("options") && json["options"].contains(dtype)) return {};
    return parse_dtype(dtype);
  };
  double greatest = 1;
  for (const auto& output : json["outputs"])
    if (const auto dtype = fixed_dtype(output); dtype && info_of(*dtype).bits == 8)
      greatest = std::max(greatest, greatest_rounded_to(*dtype));
  const bool of_floats = std::ranges::any_of(json["inputs"], [&](const auto& input) {
    const auto dtype = fixed_dtype(input);
    return dtype && is_floating(*dtype);
  });
  const bool has_ties = std::ranges::any_of(
      json["regimes"], [](const auto& regime) { return regime.value("distribution", "") == "ties"; });
  if (greatest > 1 && of_floats && !has_ties) json["regimes"]["ties"] = {{"distribution", "ties"}, {"gain", greatest}};
}

/// How CUDA's headers call an element in a kernel.
std::string cuda_spelling(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return "__nv_bfloat16";
    case DType::e4m3:
      return "__nv_fp8_e4m3";
    case DType::e5m2:
      return "__nv_fp8_e5m2";
    default:
      return std::string(cuda_name_of(dtype));
  }
}

/// A value as an expression.
std::string literal_text(const Value& value) {
  const bool text = std::holds_alternative<std::string>(value);
  return text ? fmt::format("'{}'", std::get<std::string>(value)) : expr::to_string(value);
}

bool reads_facts(const Expression& condition) {
  const Bindings facts = facts_of(DeviceLimits{});
  const std::vector<std::string> names = condition.names();
  return std::ranges::any_of(names, [&](const std::string& name) { return facts.contains(name); });
}

}  // namespace

std::string ShortFormReader::base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string ShortFormReader::include_line(const std::string& file) const {
  return fmt::format("//% include \"{}source/{}\"\n", folder_, sources_.inside(file));
}

std::string ShortFormReader::known_macros() const {
  std::string text;
  for (const auto& [name, values] : options_) {
    if (!is_type_option(name)) {
      text += fmt::format("#define {0} ${{{0}}}\n", name);
      continue;
    }
    std::string choice;
    for (const Value& value : values) {
      const std::string& type = std::get<std::string>(value);
      choice += fmt::format("{} == '{}' ? '{}' : ", name, type, cuda_spelling(parse_dtype(type)));
    }
    text += fmt::format("#define {} ${{{}'?'}}\n", name, choice);
  }
  for (const std::string& name : specialised_) text += fmt::format("#define {0} ${{{0}}}\n", name);
  return text;
}

bool ShortFormReader::is_macro(const std::string& gene) const {
  return std::ranges::none_of(launched_, [&](const FunctionPlace& launch) {
    const std::string& name = launch.function;
    for (std::size_t open = name.find("${"); open != std::string::npos; open = name.find("${", open + 1)) {
      const std::size_t close = name.find('}', open);
      if (close == std::string::npos) return false;
      const auto read = Expression::parse(name.substr(open + 2, close - open - 2)).names();
      if (std::ranges::find(read, gene) != read.end()) return true;
    }
    return false;
  });
}

std::string ShortFormReader::include_lines() const {
  std::string text;
  std::set<std::string> seen;
  for (const FunctionPlace& launch : launched_)
    if (seen.insert(launch.file).second) text += include_line(launch.file);
  return text;
}

void ShortFormReader::kernel_file() {
  std::string text =
      fmt::format("//% # The genes are macros of {}, which is as its author wrote it.\n", base_name(kernel_.file));
  text += compile_options_line(compile_.kept);
  for (const Json& gene : family_["genes"])
    if (is_macro(gene["name"])) text += fmt::format("#define {0} ${{{0}}}\n", gene["name"].get<std::string>());
  form_.files[family_folder_ + "kernel.cu"] = text + known_macros() + include_lines();
}

void ShortFormReader::reference() {
  Json reference = Json::object();
  const bool given = root_.find("reference").has_value();
  const FunctionPlace& place = reference_;
  reference["kernel"] = with_first_in_braces(place.function);
  const auto list = [&](const char* key, const std::vector<std::string>& usual) {
    const auto own = extents(key);
    if (!own && launched_.size() > 1) root_.at(key);  // No launch's sizes are those of the whole.
    std::vector<std::string> texts = three(own.value_or(usual));
    for (std::string& text : texts) text = with_values(text, first_);
    return texts;
  };
  reference["grid"] = list("reference_grid", grid_);
  reference["block"] = list("reference_block", block_);
  const auto shared = root_.find("reference_shared");
  const std::string smem = shared ? shared->expression().text() : given ? "" : shared_;
  if (!smem.empty()) reference["dynamic_smem"] = with_values(smem, first_);
  reference["arguments"] = reference_arguments();
  if (const Json constants = reference_constants(place); !constants.empty()) reference["constants"] = constants;
  if (typed_outputs_) reference["typed_outputs"] = true;
  for (const char* key : {"grid", "block", "arguments"})
    task_origin(fmt::format("reference.{}", key),
                root_.find(fmt::format("reference_{}", key)) ? fmt::format("reference_{}", key) : key);
  task_["reference"] = reference;
  origin(folder_ + "reference.cu", place.file);
  if (!given) task_["self_consistent"] = true;

  std::string text = given ? fmt::format("//% # {} of {}.\n", place.function, base_name(place.file))
                           : "//% # The first legal genome stands for a reference: results are self-consistent only.\n";
  // A kernel that is the reference is compiled as nearly as it can be: an older dialect would not read the file.
  std::vector<std::string> options = compile_.kept;
  std::erase_if(options, [](const std::string& option) { return !option.starts_with("-std="); });
  text += compile_options_line(options);
  if (std::ranges::find(launched_, place.file, &FunctionPlace::file) != launched_.end())
    for (const auto& [gene, value] : first_)
      if (is_macro(gene)) text += fmt::format("#define {} ${{{}}}\n", gene, literal_text(value));
  form_.files[folder_ + "reference.cu"] = text + known_macros() + include_line(place.file);
}

std::string ShortFormReader::with_first_in_braces(const std::string& name) const {
  std::string text;
  std::size_t at = 0;
  for (std::size_t open = name.find("${"); open != std::string::npos; open = name.find("${", at)) {
    const std::size_t close = std::min(name.find('}', open), name.size() - 1);
    text += name.substr(at, open - at) + with_values(std::string_view(name).substr(open, close + 1 - open), first_);
    at = close + 1;
  }
  return text + name.substr(std::min(at, name.size()));
}

std::vector<std::size_t> ShortFormReader::usual_reference_arguments() const {
  std::vector<std::size_t> usual, without_genes;
  for (std::size_t i = 0; i < arguments_.front().size(); ++i) {
    const std::string& argument = arguments_.front()[i];
    if (scratch_.contains(argument)) continue;
    usual.push_back(i);
    if (with_values(argument, first_) == argument) without_genes.push_back(i);
  }
  const std::string function = reference_.function.substr(0, reference_.function.find('<'));
  const auto count = parameter_count(sources_.whole_text(reference_.file), function);
  if (without_genes.size() == count) return without_genes;
  if (count && *count != usual.size() && (launches_.size() > 1 || !scratch_.empty()))
    root_.at("reference")
        .fail(fmt::format(
            "{} takes {} arguments, and the kernel{} has {} without scratch: say them in \"reference_arguments\"",
            function, *count, launches_.size() > 1 ? " of the first launch" : "", usual.size()));
  return usual;
}

ShortFormReader::Json ShortFormReader::reference_arguments() {
  Json list = Json::array();
  const auto given = root_.find("reference_arguments");
  if (!given) {
    for (const std::size_t i : usual_reference_arguments()) {
      task_origin(fmt::format("reference.arguments[{}]", list.size()), fmt::format("arguments[{}]", i));
      list.push_back(with_values(arguments_.front()[i], first_));
    }
    return list;
  }
  for (const JsonPlace& item : given->items()) {
    check_argument(item);
    task_origin(fmt::format("reference.arguments[{}]", list.size()),
                fmt::format("reference_arguments[{}]", list.size()));
    list.push_back(with_values(own_name(item.text()), first_));
  }
  return list;
}

ShortFormReader::Json ShortFormReader::reference_constants(const FunctionPlace& place) {
  const bool given = root_.find("reference_constants").has_value();
  const char* key = given ? "reference_constants" : "constants";
  const std::string source = sources_.whole_text(place.file);
  Json all = Json::object();
  for (const auto& [symbol, filled] : given ? json_[key].items() : constants_.items()) {
    if (!given && !has_word(source, symbol.substr(symbol.rfind(':') + 1))) continue;
    all[symbol] = with_first(filled);
    task_origin("reference.constants." + symbol, fmt::format("{}.{}", key, symbol));
  }
  return all;
}

void ShortFormReader::refuse_own_values() const {
  for (const FunctionPlace& launched : launched_) {
    std::set<std::string, std::less<>> given, asked;
    bool in_comment = false;
    for (const std::string& line : split(sources_.whole_text(launched.file), '\n')) {
      const std::string code = without_comments(line, in_comment);
      for (const char* word : {"if", "undef"})
        if (const std::string_view condition = directive_text(code, word); !condition.empty())
          for (const std::string& gene : genes_)
            if (has_word(condition, gene)) asked.insert(gene);
      for (const std::string_view declared : {directive_text(code, "define"), declared_variable(code)})
        given.emplace(trim(declared.substr(0, declared.find_first_of(" \t="))));
    }
    for (const std::string& gene : genes_)
      if (is_macro(gene) && given.contains(gene) && !asked.contains(gene))
        root_.fail(
            fmt::format("{} gives {} a value of its own, which would hide the gene: remove that line, or put "
                        "#ifndef {} around it",
                        launched.file, gene, gene));
  }
}

ShortFormReader::Json ShortFormReader::with_first(Json filled) const {
  if (filled.is_string()) return with_values(filled.get<std::string>(), first_);
  for (Json& part : filled)
    if (part.is_string()) part = with_values(part.get<std::string>(), first_);
  return filled;
}

void ShortFormReader::family_json() {
  Json json = Json::object();
  json["summary"] = fmt::format("{} of {}", kernel_.function, base_name(kernel_.file));
  if (const auto condition = root_.find("requires"); condition && reads_facts(condition->expression()))
    json["requires"] = json_["requires"];
  json["genes"] = family_["genes"];
  if (family_.contains("constraints")) json["constraints"] = family_["constraints"];
  if (root_.find("max_registers")) json["max_registers"] = json_["max_registers"];
  if (const std::string& most = compile_.max_registers; !most.empty()) {
    const auto number = number_in<std::int64_t>(most);
    const bool braces = most.starts_with("${") && most.ends_with('}');
    json["max_registers"] = number ? Json(*number) : Json(braces ? most.substr(2, most.size() - 3) : most);
    family_origin("max_registers", "compiler_options");
  }
  if (family_.contains("workspaces")) json["workspaces"] = family_["workspaces"];
  if (!constants_.empty()) json["constants"] = constants_;
  json["launches"] = family_["launches"];
  form_.files[family_folder_ + "family.json"] = laid_out(json) + "\n";
}

void ShortFormReader::task_json() {
  Json json = Json::object();
  const auto take = [&](const char* key) {
    if (root_.find(key)) json[key] = json_[key];
  };
  const auto put = [&](const char* key) {
    if (task_.contains(key)) json[key] = task_[key];
  };
  take("summary");
  put("shape_parameters");
  put("specialised");
  take("options");
  if (const auto condition = root_.find("requires"); condition && !reads_facts(condition->expression()))
    take("requires");
  put("inputs");
  put("outputs");
  put("shapes");
  for (const char* key : {"sets", "seeds", "regimes", "deterministic"}) take(key);
  if (json.contains("regimes")) add_ties(json);
  put("limits");
  for (const char* key : {"objectives", "floor"}) take(key);
  put("reference");
  put("self_consistent");
  form_.files[folder_ + "task.json"] = laid_out(json) + "\n";
}

}  // namespace evo
