#include "engine/short_form/short_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "engine/base/dtype.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/device/device_limits.h"
#include "engine/expression/json_place.h"
#include "engine/expression/json_value.h"
#include "engine/expression/name_scope.h"
#include "engine/short_form/json_layout.h"
#include "engine/short_form/substitution.h"
#include "engine/short_form/t1_form.h"
#include "engine/short_form/tensor_notation.h"
#include "engine/task/argument.h"
#include "engine/task/draw.h"
#include "engine/task/family.h"
#include "engine/task/kernel_functions.h"
#include "engine/task/t1.h"

namespace evo {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostSteps = 1'000'000;  ///< Of the search for the first legal genome.
constexpr std::array<char, 3> kAxisLetters = {'x', 'y', 'z'};

/// Words of CUDA C++ that a kernel is likely to have: as macros they would change what it says.
constexpr std::array kKeywords = {
    "auto",      "bool",     "break",    "case",    "char",     "class",     "const",  "constexpr", "continue",
    "default",   "do",       "double",   "else",    "enum",     "extern",    "false",  "float",     "for",
    "goto",      "if",       "inline",   "int",     "long",     "namespace", "new",    "nullptr",   "operator",
    "return",    "short",    "signed",   "sizeof",  "static",   "struct",    "switch", "template",  "this",
    "true",      "typedef",  "typename", "union",   "unsigned", "using",     "void",   "volatile",  "while",
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"};

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string name_from(const std::string& file) {
  std::string name = base_name(file);
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  if (!is_identifier(name)) name = "task_" + name;
  return name;
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_identifier_character(text[at - 1])) &&
        (end == text.size() || !is_identifier_character(text[end])))
      return true;
  }
  return false;
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

std::optional<DType> dtype_named(const std::string& name) {
  const auto type = type_named(name);
  if (!type || type->components != 1) return std::nullopt;
  return type->element;
}

/// A function in a file of the author's.
struct FunctionPlace {
  std::string file;  ///< As the short form names it.
  std::string function;
};

/// A constraint and the author's place of it.
struct OwnConstraint {
  std::string author;
  Expression that;
};

class ShortFormReader {
 public:
  ShortFormReader(const std::string& file, const std::string& text, const ReadFile& read, const IsKnownHeader& known)
      : file_(file), read_(read), sources_(read, known), root_(JsonPlace::read({{file, text}}, file)) {
    json_ = Json::parse(text);
    form_.task = name_from(file);
    folder_ = form_.task + "/";
    family_folder_ = folder_ + kTunedFamily + "/";
  }

  ShortForm read() {
    root_.allow_only({"summary",
                      "kernel",
                      "genes",
                      "tune_params",
                      "restrict",
                      "restrictions",
                      "specialised",
                      "shapes",
                      "arguments",
                      "constants",
                      "problem_size",
                      "grid",
                      "grid_div_x",
                      "grid_div_y",
                      "grid_div_z",
                      "block",
                      "cluster",
                      "shared",
                      "max_registers",
                      "reference",
                      "reference_grid",
                      "reference_block",
                      "reference_shared",
                      "reference_arguments",
                      "reference_constants",
                      "limits",
                      "deterministic",
                      "requires",
                      "seeds",
                      "options",
                      "regimes",
                      "sets",
                      "objectives",
                      "floor"});
    origin(folder_ + "task.json", file_);
    origin(family_folder_ + "family.json", file_);
    origin(folder_ + "reference.cu", file_ + (root_.find("reference") ? ": reference" : ": kernel"));
    for (const auto& [fact, value] : facts_of(DeviceLimits{})) scope_.add(fact);
    if (!root_.find("kernel") && root_.find("tune_params"))
      root_.fail(fmt::format("key 'kernel' is missing: add it, or write ten lines with \"genes\": \"{}\"", file_));
    kernel_ = function_place("kernel", {});
    reference_ = root_.find("reference") ? function_place("reference", kernel_.file) : kernel_;
    author_files();
    origin(family_folder_ + "kernel.cu", kernel_.file);
    shapes();
    genes();
    options();
    arguments();
    limits();
    constants();
    restrictions();
    geometry();
    first_genome();
    kernel_file();
    reference();
    family_json();
    task_json();
    return std::move(form_);
  }

 private:
  void origin(const std::string& made, const std::string& author) { form_.origins.emplace_back(made, author); }
  void task_origin(const std::string& made, const std::string& author) {
    origin(fmt::format("{}task.json: {}", folder_, made), fmt::format("{}: {}", file_, author));
  }
  void family_origin(const std::string& made, const std::string& author) {
    origin(fmt::format("{}family.json: {}", family_folder_, made), fmt::format("{}: {}", file_, author));
  }

  // --- the author's files

  /// "convolution.cu:convolution_kernel". Without a file it is `usual`.
  FunctionPlace function_place(const char* key, const std::string& usual) {
    const JsonPlace place = root_.at(key);
    const std::string text = place.text();
    FunctionPlace found;
    const auto dot = text.find(".cu");
    const auto colon = text.find(':', dot == std::string::npos ? text.size() : dot);
    found.file = dot == std::string::npos ? usual : text.substr(0, colon);
    if (found.file.empty()) place.fail(fmt::format("'{}': expected \"FILE.cu:FUNCTION\"", text));
    if (dot == std::string::npos) {
      found.function = text;
    } else if (colon != std::string::npos) {
      found.function = trim(std::string_view(text).substr(colon + 1));
    }
    try {
      sources_.take(found.file);
    } catch (const Error& error) {
      place.fail(error.what());
    }
    const std::string source = sources_.whole_text(found.file);
    const std::vector<std::string> kernels = kernel_functions(source);
    if (kernels.empty()) place.fail(fmt::format("{} has no __global__ function", found.file));
    if (found.function.empty() && kernels.size() == 1) found.function = kernels.front();
    if (found.function.empty())
      place.fail(fmt::format("which function? \"{}:FUNCTION\"; there are {}", found.file, list_of(kernels)));
    std::string simple = found.function.substr(0, found.function.find('<'));
    if (const auto scope = simple.rfind("::"); scope != std::string::npos) simple = simple.substr(scope + 2);
    // A macro may make a name that is not seen here, but then the file has another one.
    if (std::ranges::find(kernels, simple) == kernels.end() && source.find(simple) == std::string::npos)
      place.fail(fmt::format("{} has no kernel {}{}", found.file, simple, suggestion(simple, kernels)));
    return found;
  }

  void author_files() {
    for (auto& [author, inside, text] : sources_.placed()) {
      const std::string path = folder_ + "source/" + inside;
      origin(path, author);
      form_.files[path] = std::move(text);
    }
  }

  // --- the parts

  void shapes() {
    const JsonPlace place = root_.at("shapes");
    std::vector<std::pair<std::string, JsonPlace>> members;
    if (place.is_object()) {
      members = place.members();
    } else {
      for (const JsonPlace& item : place.items()) members.emplace_back("", item);
    }
    if (members.empty()) place.fail("at least one shape is needed: [{\"N\": 1024}]");
    for (const auto& [parameter, value] : members.front().second.members()) parameters_.push_back(parameter);
    scope_.add(parameters_);
    if (parameters_.empty()) members.front().second.fail("at least one size is needed: {\"N\": 1024}");
    for (auto& [name, shape] : members) {
      Json sizes = Json::object();
      std::string joined;
      for (const auto& [parameter, value] : shape.members()) {
        sizes[parameter] = value.integer();
        joined += fmt::format("{}{}", joined.empty() ? "" : "x", value.integer());
      }
      const std::string author =
          name.empty() ? fmt::format("shapes[{}]", task_["shapes"].size()) : fmt::format("shapes.{}", name);
      const std::string given = name.empty() ? joined : name;
      if (task_["shapes"].contains(given)) shape.fail(fmt::format("shape {} is given twice", given));
      task_["shapes"][given] = sizes;
      task_origin("shapes." + given, author);
    }
    task_["shape_parameters"] = parameters_;
    if (const auto given = root_.find("specialised")) {
      for (const JsonPlace& item : given->items()) specialised_.push_back(item.text());
      task_["specialised"] = specialised_;
    }
  }

  void genes() {
    for (const char* key : {"genes", "tune_params"}) {
      const auto place = root_.find(key);
      if (!place) continue;
      if (!place->is_object()) {
        genes_from_file(*place);
        continue;
      }
      for (const auto& [name, gene] : place->members()) add_gene(name, gene, fmt::format("{}.{}", key, name));
    }
    if (!family_.contains("genes")) root_.fail("key 'genes' is missing: {\"block_size_x\": [32, 64, 128]}");
  }

  void add_gene(const std::string& name, const JsonPlace& place, const std::string& author) {
    if (place.is_object()) {
      Json gene = {{"name", name}};
      for (const auto& [key, value] : place.members()) {
        if (key != "values") gene[key] = raw(value, key);
      }
      if (const auto values = place.find("values")) gene["values"] = values_json(*values);
      return push_gene(place, gene, author);
    }
    push_gene(place, {{"name", name}, {"values", values_json(place)}}, author);
  }

  static Json raw(const JsonPlace& place, const std::string&) { return json_of(place.value()); }

  void push_gene(const JsonPlace& place, const Json& gene, const std::string& author) {
    const std::string name = gene["name"];
    if (genes_.contains(name)) place.fail(fmt::format("gene '{}' is given twice", name));
    if (!is_identifier(name)) place.fail(fmt::format("'{}' cannot be a macro: it is not a name", name));
    if (std::ranges::find(kKeywords, name) != kKeywords.end())
      place.fail(fmt::format("'{}' cannot be a macro: it is a word of CUDA C++", name));
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

  /// A list, or Python's way to write one: "[2**i for i in range(6)]". Numbers ascend, as genes want them.
  static Json values_json(const JsonPlace& place) {
    std::vector<Value> values;
    if (!place.is_list() && !std::holds_alternative<std::string>(place.value()))
      place.fail("expected a list of values: [32, 64]");
    if (place.is_list()) {
      for (const JsonPlace& item : place.items()) values.push_back(item.value());
    } else {
      values = place.read_as([](const std::string& text) { return t1_values(text); });
    }
    const bool fractions =
        std::ranges::any_of(values, [](const Value& v) { return std::holds_alternative<double>(v); });
    const bool numbers =
        std::ranges::all_of(values, [](const Value& v) { return std::holds_alternative<std::int64_t>(v); });
    if (numbers) std::ranges::sort(values);
    Json json = Json::array();
    if (values.empty()) place.fail("at least one value is needed");
    for (const Value& value : values) json.push_back(fractions ? Json(expr::to_string(value)) : json_of(value));
    return json;
  }

  /// Kernel Tuner's: a T1 file, or {"tune_params": ..., "restrictions": ...}.
  void genes_from_file(const JsonPlace& place) {
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
        Json values = Json::array();
        for (const Value& value : gene.alleles) values.push_back(json_of(value));
        push_gene(place, {{"name", gene.name}, {"values", values}}, fmt::format("genes: {}: {}", file, gene.name));
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

  void restrictions() {
    for (const char* key : {"restrict", "restrictions"})
      if (const auto place = root_.find(key)) add_constraints(*place, key);
  }

  void add_constraints(const JsonPlace& place, const std::string& author) {
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

  void add_constraint(const Json& constraint, const std::string& author) {
    const std::string made = fmt::format("constraints[{}]", family_["constraints"].size());
    family_origin(made + ".that", author);
    constraints_.push_back({author, Expression::parse(constraint["that"].get<std::string>())});
    family_["constraints"].push_back(constraint);
  }

  void options() {
    const auto place = root_.find("options");
    if (!place) return;
    for (const auto& [name, values] : place->members()) {
      scope_.add(name);
      std::vector<Value>& known = options_[name];
      for (const JsonPlace& value : values.items()) known.push_back(value.value());
      // Types go by any of their names; the task has evo's.
      if (!is_type_option(name)) continue;
      for (Value& value : known) value = std::string(name_of(*dtype_named(std::get<std::string>(value))));
      for (std::size_t i = 0; i < known.size(); ++i) json_["options"][name][i] = std::get<std::string>(known[i]);
    }
  }

  bool is_type_option(const std::string& name) const {
    const auto option = options_.find(name);
    if (option == options_.end() || option->second.empty()) return false;
    return std::ranges::all_of(option->second, [](const Value& value) {
      return std::holds_alternative<std::string>(value) && dtype_named(std::get<std::string>(value));
    });
  }

  void arguments() {
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

  /// "flaot:0.5" is no expression.
  static void refuse_unknown_type(const JsonPlace& place) {
    const std::string text = place.text();
    const std::string type(trim(std::string_view(text).substr(0, text.find(':'))));
    if (text.find(':') == std::string::npos || !is_identifier(type) || type_named(type)) return;
    place.fail(fmt::format("'{}' is no type{}", type, suggestion(type, type_names())));
  }

  /// Variables and what fills them: an input by name or as `arguments` write one, or a value.
  void constants() {
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
        if (item.is_object()) filled.update(without(json_["constants"][symbol], "value"));
        constants_[symbol] = filled.size() == 1 ? filled["value"] : filled;
      }
    }
    if (!task_.contains("inputs")) task_["inputs"] = Json::array();
  }

  static Json without(Json object, const char* key) {
    object.erase(key);
    return object;
  }

  /// A tensor's name alone may be one that is given before.
  void check_names(const JsonPlace& place, const ArgumentSpec& argument) const {
    if (argument.may_be_name && tensors_.contains(argument.text)) return;
    for (const FieldSpec& field : argument.fields)
      for (const Expression& component : field.components) scope_.check(place, component);
  }

  void add_tensor(const JsonPlace& place, const TensorNotation& tensor, const std::string& author) {
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

  /// float4[N] is float[N, 4].
  static void add_components(std::size_t components, std::vector<std::string>& dims,
                             std::vector<std::string>& strides) {
    dims.push_back(std::to_string(components));
    if (strides.empty()) return;
    for (std::string& stride : strides) stride = fmt::format("({}) * {}", stride, components);
    strides.emplace_back("1");
  }

  /// The reference writes narrow floats as the kernel does, but the real values of a quantised output.
  void choose_reference_type(const JsonPlace& place, const TensorNotation& tensor, DType dtype) {
    if (!tensor.scale.empty()) {
      if (!root_.find("reference"))
        place.fail("a quantised output needs a 'reference', which writes its real values as float");
      return;
    }
    if (is_floating(dtype) && dtype != DType::f32 && dtype != DType::f64) typed_outputs_ = true;
  }

  /// Where the file stands in the folder, whose files of other kinds are not read.
  std::string take_drawn_file(const JsonPlace& place, const std::string& path) {
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

  /// Those of the task, and, under an output's name, its own.
  void limits() {
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

  // --- where it runs

  /// One to three expressions, as texts.
  std::optional<std::vector<std::string>> extents(const char* key) {
    const auto place = root_.find(key);
    if (!place) return std::nullopt;
    std::vector<JsonPlace> items;
    if (place->is_list())
      items = place->items();
    else
      items = {*place};
    if (items.empty() || items.size() > 3) place->fail("one to three extents are needed");
    std::vector<std::string> texts;
    for (const JsonPlace& item : items) {
      texts.push_back(item.expression().text());
      scope_.check(item, item.expression());
    }
    return texts;
  }

  static std::vector<std::string> three(std::vector<std::string> extents) {
    extents.resize(3, "1");
    return extents;
  }

  void geometry() {
    const auto block = extents("block");
    block_ = three(block ? *block : usual_block());
    const auto grid = extents("grid");
    grid_ = three(grid ? *grid : divided_grid());
    Json launch = {{"kernel", kernel_.function}, {"grid", grid_}, {"block", block_}};
    if (const auto cluster = extents("cluster")) launch["cluster"] = three(*cluster);
    if (const auto shared = root_.find("shared")) {
      scope_.check(*shared, shared->expression());
      launch["dynamic_smem"] = shared_ = shared->expression().text();
    }
    launch["arguments"] = arguments_;
    family_["launches"].push_back(launch);
    family_origin("launches[0].dynamic_smem", "shared");
    for (const char* key : {"kernel", "grid", "block", "cluster", "arguments"})
      family_origin(fmt::format("launches[0].{}", key), key);
    for (const char* key : {"grid", "block", "cluster"})  // where a shape decides
      family_origin(fmt::format("launch {}: {}", kernel_.function, key), fmt::format("{}:", key));
    limit_threads();
  }

  /// Kernel Tuner's names.
  std::vector<std::string> usual_block() const {
    std::vector<std::string> block;
    for (const char axis : kAxisLetters) {
      const std::string gene = fmt::format("block_size_{}", axis);
      block.push_back(genes_.contains(gene) ? gene : "1");
    }
    if (block[0] == "1")
      root_.fail(
          "key 'block' is missing: the threads of a block, as [\"block_size_x\"]; genes block_size_x, _y and _z "
          "are taken without it");
    return block;
  }

  /// Kernel Tuner's way: each extent of the problem is divided by the genes of its axis.
  std::vector<std::string> divided_grid() {
    const auto problem = extents("problem_size");
    if (!problem) root_.fail("key 'grid' is missing: the blocks of the grid, as [\"ceil_div(N, block_size_x)\"]");
    std::vector<std::string> grid;
    for (std::size_t i = 0; i < problem->size(); ++i) {
      std::vector<std::string> divisors;
      const std::string key = fmt::format("grid_div_{}", kAxisLetters[i]);
      if (const auto given = root_.find(key)) {
        std::vector<JsonPlace> items;
        if (given->is_list())
          items = given->items();
        else
          items = {*given};
        for (const JsonPlace& item : items) {
          scope_.check(item, item.expression());
          divisors.push_back("(" + item.expression().text() + ")");
        }
      } else if (block_[i] != "1") {
        divisors.push_back("(" + block_[i] + ")");
      }
      grid.push_back(divisors.empty() ? (*problem)[i]
                                      : fmt::format("ceil_div({}, {})", (*problem)[i], fmt::join(divisors, " * ")));
    }
    return grid;
  }

  /// A block of more threads than any GPU takes is no genome.
  void limit_threads() {
    std::vector<std::string> factors;
    for (const std::string& extent : block_) {
      if (extent == "1") continue;
      for (const std::string& name : Expression::parse(extent).names()) {
        const bool runtime = std::ranges::find(parameters_, name) != parameters_.end() &&
                             std::ranges::find(specialised_, name) == specialised_.end();
        if (runtime) return;
      }
      factors.push_back(is_identifier(extent) ? extent : "(" + extent + ")");
    }
    if (factors.empty()) return;
    add_constraint({{"that", fmt::format("{} <= threads_per_block", fmt::join(factors, " * "))},
                    {"why", "a block has at most that many threads"}},
                   "block");
  }

  // --- the first genome

  /// In the order of the values, by those constraints that genes alone decide. It fixes what the reference needs of
  /// them.
  void first_genome() {
    Bindings known = {{"threads_per_block", std::int64_t{DeviceLimits{}.threads_per_block}}};
    for (const auto& [name, values] : options_)
      if (!values.empty()) known[name] = values.front();
    std::int64_t steps = 0;
    if (!complete(0, constraints_, known, steps)) fail_without_genome(known, steps > kMostSteps);
    for (const std::string& gene : genes_) first_[gene] = known.at(gene);
  }

  /// Names the constraint that excludes every genome, where one alone does.
  [[noreturn]] void fail_without_genome(const Bindings& constants, bool gave_up) {
    for (const OwnConstraint& constraint : constraints_) {
      Bindings known = constants;
      std::int64_t steps = 0;
      if (!gave_up && !complete(0, {&constraint, 1}, known, steps))
        throw usage_error(
            fmt::format("{}: {}: no genome meets '{}'", file_, constraint.author, constraint.that.text()));
    }
    root_.fail(fmt::format("restrict: no genome meets it{}", gave_up ? " among the first million" : ""));
  }

  bool is_broken(const OwnConstraint& constraint, const Bindings& known) const {
    try {
      const auto decided = constraint.that.evaluate_partially(known);
      return decided && !Expression::constant(*decided).evaluate_bool({});
    } catch (const Error& error) {
      throw usage_error(fmt::format("{}: {}: {}", file_, constraint.author, error.what()));
    }
  }

  bool complete(std::size_t gene, std::span<const OwnConstraint> constraints, Bindings& known, std::int64_t& steps) {
    if (gene == family_["genes"].size()) return true;
    const Json& spec = family_["genes"][gene];
    const std::string name = spec["name"];
    if (!spec.contains("values") || !spec["values"].is_array())
      root_.fail(fmt::format("gene '{}' has no values", name));
    if (spec["values"].empty()) root_.fail(fmt::format("genes.{}: has no value", name));
    for (const Json& value : spec["values"]) {
      if (++steps > kMostSteps) return false;
      known[name] = value.is_boolean()  ? Value(value.get<bool>())
                    : value.is_string() ? Value(value.get<std::string>())
                                        : Value(value.get<std::int64_t>());
      const bool broken = std::ranges::any_of(
          constraints, [&](const OwnConstraint& constraint) { return is_broken(constraint, known); });
      if (!broken && complete(gene + 1, constraints, known, steps)) return true;
    }
    known.erase(name);
    return false;
  }

  // --- files

  std::string include_line(const std::string& file) const {
    return fmt::format("//% include \"{}source/{}\"\n", folder_, sources_.inside(file));
  }

  /// What is known when a kernel is compiled: options and specialised sizes.
  std::string known_macros() const {
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

  /// A gene that the kernel's name reads, "reduce<${tile}>", is a template's parameter, which a macro would hide.
  bool is_macro(const std::string& gene) const {
    const std::string& name = kernel_.function;
    for (std::size_t open = name.find("${"); open != std::string::npos; open = name.find("${", open + 1)) {
      const std::size_t close = name.find('}', open);
      if (close == std::string::npos) return true;
      const auto read = Expression::parse(name.substr(open + 2, close - open - 2)).names();
      if (std::ranges::find(read, gene) != read.end()) return false;
    }
    return true;
  }

  void kernel_file() {
    std::string text =
        fmt::format("//% # The genes are macros of {}, which is as its author wrote it.\n", base_name(kernel_.file));
    for (const Json& gene : family_["genes"])
      if (is_macro(gene["name"])) text += fmt::format("#define {0} ${{{0}}}\n", gene["name"].get<std::string>());
    form_.files[family_folder_ + "kernel.cu"] = text + known_macros() + include_line(kernel_.file);
  }

  void reference() {
    Json reference = Json::object();
    const bool given = root_.find("reference").has_value();
    const FunctionPlace& place = reference_;
    reference["kernel"] = with_first_in_braces(place.function);
    const auto list = [&](const char* key, const std::vector<std::string>& usual) {
      std::vector<std::string> texts = three(extents(key).value_or(usual));
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

    std::string text = given
                           ? fmt::format("//% # {} of {}.\n", place.function, base_name(place.file))
                           : "//% # The first legal genome stands for a reference: results are self-consistent only.\n";
    if (place.file == kernel_.file)
      for (const auto& [gene, value] : first_)
        if (is_macro(gene)) text += fmt::format("#define {} {}\n", gene, expr::to_string(value));
    form_.files[folder_ + "reference.cu"] = text + known_macros() + include_line(place.file);
  }

  /// "reduce<${tile}>" with the first genome's tile: a reference reads no genes.
  std::string with_first_in_braces(const std::string& name) const {
    std::string text;
    std::size_t at = 0;
    for (std::size_t open = name.find("${"); open != std::string::npos; open = name.find("${", at)) {
      const std::size_t close = std::min(name.find('}', open), name.size() - 1);
      text += name.substr(at, open - at) + with_values(std::string_view(name).substr(open, close + 1 - open), first_);
      at = close + 1;
    }
    return text + name.substr(std::min(at, name.size()));
  }

  Json reference_arguments() {
    Json list = Json::array();
    const auto given = root_.find("reference_arguments");
    if (!given) {
      for (std::size_t i = 0; i < arguments_.size(); ++i) {
        list.push_back(with_values(arguments_[i], first_));
        task_origin(fmt::format("reference.arguments[{}]", i), fmt::format("arguments[{}]", i));
      }
      return list;
    }
    for (const JsonPlace& item : given->items()) {
      check_names(item, item.read_as(parse_argument));
      task_origin(fmt::format("reference.arguments[{}]", list.size()),
                  fmt::format("reference_arguments[{}]", list.size()));
      list.push_back(with_values(item.text(), first_));
    }
    return list;
  }

  /// Without `reference_constants`: those of the kernel's that the reference's file has.
  Json reference_constants(const FunctionPlace& place) {
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

  /// The expressions of a constant with the genes of the first genome.
  Json with_first(Json filled) const {
    if (filled.is_string()) return with_values(filled.get<std::string>(), first_);
    for (Json& part : filled)
      if (part.is_string()) part = with_values(part.get<std::string>(), first_);
    return filled;
  }

  bool reads_facts(const Expression& condition) const {
    const Bindings facts = facts_of(DeviceLimits{});
    const std::vector<std::string> names = condition.names();
    return std::ranges::any_of(names, [&](const std::string& name) { return facts.contains(name); });
  }

  void family_json() {
    Json json = Json::object();
    json["summary"] = fmt::format("{} of {}", kernel_.function, base_name(kernel_.file));
    if (const auto condition = root_.find("requires"); condition && reads_facts(condition->expression()))
      json["requires"] = json_["requires"];
    json["genes"] = family_["genes"];
    if (family_.contains("constraints")) json["constraints"] = family_["constraints"];
    if (root_.find("max_registers")) json["max_registers"] = json_["max_registers"];
    if (!constants_.empty()) json["constants"] = constants_;
    json["launches"] = family_["launches"];
    form_.files[family_folder_ + "family.json"] = laid_out(json) + "\n";
  }

  void task_json() {
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
    put("limits");
    for (const char* key : {"objectives", "floor"}) take(key);
    put("reference");
    put("self_consistent");
    form_.files[folder_ + "task.json"] = laid_out(json) + "\n";
  }

  const std::string& file_;
  const ReadFile& read_;
  AuthorFiles sources_;
  JsonPlace root_;
  Json json_;  // the same as root_
  std::string folder_, family_folder_;
  FunctionPlace kernel_, reference_;
  std::vector<std::string> parameters_, specialised_;
  std::map<std::string, std::vector<Value>> options_;
  std::set<std::string> genes_, tensors_;
  std::vector<std::string> arguments_, grid_, block_;
  std::string shared_;
  std::vector<OwnConstraint> constraints_;
  bool typed_outputs_ = false;
  NameScope scope_;             // what grids, blocks and arguments read
  Bindings first_;              // the first legal genome
  Json task_ = Json::object();  // parts of task.json and family.json
  Json family_ = Json::object();
  Json constants_ = Json::object();
  ShortForm form_;
};

/// The message with `second` in the place of the longest `first` that it begins with.
std::string with_place(const std::string& message, const std::vector<std::pair<std::string, std::string>>& places) {
  const std::pair<std::string, std::string>* best = nullptr;
  for (const auto& place : places) {
    const std::string& begin = place.first;
    if (!message.starts_with(begin) ||
        (message.size() > begin.size() && is_identifier_character(message[begin.size()])))
      continue;
    if (best == nullptr || begin.size() > best->first.size()) best = &place;
  }
  return best == nullptr ? message : best->second + message.substr(best->first.size());
}

ShortForm read_t1_file(const std::string& file, const std::string& text, const ReadFile& read,
                       const IsKnownHeader& known) {
  const T1Form t1 = short_form_of_t1(text, file, read);
  try {
    ShortForm form = ShortFormReader(file, t1.text, read, known).read();
    for (auto& [made, author] : form.origins) author = with_place(author, t1.places);
    return form;
  } catch (const Error& error) {
    throw usage_error(with_place(error.what(), t1.places));
  }
}

}  // namespace

std::string ShortForm::in_authors_places(const std::string& message) const {
  const std::string said_first = fmt::format("task {}: ", task);
  std::string text = with_place(message.starts_with(said_first) ? message.substr(said_first.size()) : message, origins);
  // A compiler names the files also inside its messages.
  for (const auto& [made, author] : origins) {
    if (made.find("/source/") == std::string::npos) continue;
    for (std::size_t at = text.find(made); at != std::string::npos; at = text.find(made, at + author.size()))
      text.replace(at, made.size(), author);
  }
  return text;
}

ShortForm read_short_form(const std::string& file, const ReadFile& read, const IsKnownHeader& known) {
  const std::string text = read(file);
  return is_t1(text) ? read_t1_file(file, text, read, known) : ShortFormReader(file, text, read, known).read();
}

}  // namespace evo
