#include "engine/short_form/t1_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/dtype.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/expression/json_place.h"
#include "engine/expression/json_value.h"
#include "engine/short_form/own_words.h"
#include "engine/short_form/substitution.h"
#include "engine/short_form/t1.h"
#include "engine/source/compile_options.h"
#include "engine/task/family.h"

namespace evo {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 3> kAxes = {"X", "Y", "Z"};

/// T1's names of types, as CUDA has them. float8 and the like are OpenCL's.
const std::vector<std::string>& types() {
  static const std::vector<std::string> kTypes = [] {
    std::vector<std::string> names = {"bool",   "int8",  "uint8",  "int16", "uint16", "int32",
                                      "uint32", "int64", "uint64", "half",  "float",  "double"};
    for (const char* element : {"half", "float", "double"})
      for (const int n : {2, 3, 4}) names.push_back(fmt::format("{}{}", element, n));
    return names;
  }();
  return kTypes;
}

class Translator {
 public:
  Translator(const std::string& text, const std::string& file)
      : file_(file),
        json_(Json::parse(text)),
        root_(JsonPlace::read({{file, text}}, file)),
        spec_(root_.at("KernelSpecification")),
        space_(read_t1(text, file)) {}

  T1Form translate() {
    known_fields();
    constants();
    kernel();
    genes();
    problem();
    arguments();
    block();
    grid();
    shape();
    t1_.text = form_.dump();
    return std::move(t1_);
  }

 private:
  void origin(const std::string& made, const std::string& author) {
    t1_.places.emplace_back(fmt::format("{}: {}", file_, made), fmt::format("{}: {}", file_, author));
  }
  void spec_origin(const std::string& made, const std::string& author) {
    origin(made, "KernelSpecification." + author);
  }

  /// Null counts as absent, as T1 files have it.
  static std::optional<JsonPlace> given(const JsonPlace& object, const char* key, const Json& json) {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) return std::nullopt;
    return object.find(key);
  }
  std::optional<JsonPlace> given(const char* key) const { return given(spec_, key, json_["KernelSpecification"]); }

  /// What nobody of T1's knows is a remark of its author's, unless it looks like one of these mistyped.
  void known_fields() const {
    static const std::vector<std::string> kKnown = {
        "Language",       "KernelName", "KernelFile",   "KernelTypeNames", "CompilerOptions",
        "GlobalSizeType", "GlobalSize", "LocalSize",    "ProblemSize",     "GridDivX",
        "GridDivY",       "GridDivZ",   "SharedMemory", "Arguments",       "ReferenceArguments",
        "Stream",         "Device",     "Profiling",    "SimulationInput", "BenchmarkName",
        "BenchmarkPath",  "Misc"};
    for (const auto& [key, field] : spec_.members()) {
      if (std::ranges::find(kKnown, key) != kKnown.end()) continue;
      if (const std::string near = suggestion(key, kKnown); near.starts_with("; did you mean"))
        spec_.fail(fmt::format("unknown key '{}'{}", key, near));
    }
    if (const auto language = given("Language"); language && language->text() != "CUDA")
      language->fail(fmt::format("'{}': kernels are CUDA", language->text()));
    if (const auto references = given("ReferenceArguments"); references && !references->items().empty())
      references->fail("not supported: write ten lines with a 'reference' that is a kernel, and \"genes\": \"" + file_ +
                       "\"");
  }

  /// What expressions may read beside the parameters: numbers of BenchmarkConfig (BAT's).
  void constants() {
    const auto config = given(root_, "BenchmarkConfig", json_);
    if (!config) return;
    for (const auto& [name, value] : json_["BenchmarkConfig"].items())
      if (value.is_number_integer() && !space_.gene(name)) constants_[name] = value.get<std::int64_t>();
  }

  // --- the kernel

  void kernel() {
    const JsonPlace file = spec_.at("KernelFile");
    if (file.text().find(".cu") == std::string::npos) file.fail(fmt::format("'{}': expected FILE.cu", file.text()));
    std::string name = spec_.at("KernelName").text();
    if (const auto types = given("KernelTypeNames"); types && !types->items().empty()) {
      std::vector<std::string> texts;
      for (const JsonPlace& type : types->items())
        texts.push_back(space_.gene(type.text()) ? "${" + type.text() + "}" : type.text());
      name += fmt::format("<{}>", fmt::join(texts, ", "));
    }
    form_["kernel"] = fmt::format("{}:{}", file.text(), name);
    spec_origin("kernel", "KernelName");
    spec_origin("kernel: cannot read", "KernelFile: cannot read");
    if (const auto options = given("CompilerOptions"))
      for (const JsonPlace& option : options->one_or_more()) compiler_option(option);
  }

  /// A macro is a gene of one value.
  void compiler_option(const JsonPlace& place) {
    CompileOptions options;
    place.read_as([&](const std::string& text) {
      options = read_compile_options({text});
      return 0;
    });
    for (const auto& [name, value] : options.macros) {
      const auto number = number_in<std::int64_t>(value);
      form_["genes"][name] = Json::array({number ? Json(*number) : Json(value)});
    }
    for (const std::string& kept : options.kept) form_["compiler_options"].push_back(kept);
    if (!options.max_registers.empty()) form_["compiler_options"].push_back("-maxrregcount=" + options.max_registers);
    spec_origin("compiler_options", "CompilerOptions");
  }

  void genes() {
    std::size_t number = 0;
    for (const Gene& gene : space_.genes) {
      form_["genes"][gene.name] = to_json<Json>(gene.alleles);
      origin("genes." + gene.name, fmt::format("ConfigurationSpace.TuningParameters[{}]", number++));
    }
    number = 0;
    for (const Constraint& constraint : space_.constraints) {
      form_["restrict"].push_back(constraint.condition.text());
      origin(fmt::format("restrict[{}]", number), fmt::format("ConfigurationSpace.Conditions[{}].Expression", number));
      ++number;
    }
  }

  // --- expressions

  /// ProblemSize[1] and BenchmarkConfig's names with their values, max(parameter) with its greatest one.
  std::string plain(const JsonPlace& place) const {
    std::string text = expr::to_string(place.value());
    for (std::size_t i = 0; i < problem_.size(); ++i) replace(text, fmt::format("ProblemSize[{}]", i), problem_[i]);
    if (problem_.size() == 1) replace(text, "ProblemSize", problem_[0]);
    for (const Gene& gene : space_.genes) {
      const auto [least, greatest] = std::ranges::minmax(gene.alleles);
      replace(text, fmt::format("max({})", gene.name), expr::to_string(greatest));
      replace(text, fmt::format("min({})", gene.name), expr::to_string(least));
    }
    return with_values(text, constants_);
  }

  static void replace(std::string& text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }

  std::int64_t number(const JsonPlace& place) const {
    const std::string text = plain(place);
    try {
      return Expression::parse(text).evaluate_int({});
    } catch (const Error& error) {
      place.fail(error.what());
    }
  }

  // --- where it runs

  /// Kernel Tuner's: the extents that GridDivX, GridDivY and GridDivZ divide.
  void problem() {
    const auto place = given("ProblemSize");
    if (!place) return;
    for (const JsonPlace& extent : extents_of(*place)) problem_.push_back(std::to_string(number(extent)));
  }

  void block() {
    sizes(spec_.at("LocalSize"), "block", "LocalSize");
    if (const auto shared = given("SharedMemory")) {
      const std::string bytes = plain(*shared);
      spec_origin("shared", "SharedMemory");
      if (bytes != "0") form_["shared"] = bytes;
    }
  }

  void sizes(const JsonPlace& place, const char* key, const char* name) {
    form_[key] = Json::array();
    const std::vector<JsonPlace> extents = extents_of(place);
    for (std::size_t i = 0; i < kAxes.size(); ++i) {
      form_[key].push_back(i < extents.size() ? plain(extents[i]) : "1");
      spec_origin(fmt::format("{}[{}]", key, i),
                  place.is_object() ? fmt::format("{}.{}", name, kAxes[i]) : fmt::format("{}[{}]", name, i));
    }
  }

  /// {"X": 64, "Y": 32} or [64, 32].
  static std::vector<JsonPlace> extents_of(const JsonPlace& place) {
    std::vector<JsonPlace> extents;
    if (!place.is_object()) {
      extents = place.one_or_more();
      if (extents.empty() || extents.size() > kAxes.size()) place.fail("one to three extents are needed");
      return extents;
    }
    place.allow_only({"X", "Y", "Z"});
    const std::size_t count = place.find("Z") ? 3 : place.find("Y") ? 2 : 1;
    for (std::size_t i = 0; i < count; ++i) extents.push_back(place.at(kAxes[i]));
    return extents;
  }

  void grid() {
    if (!problem_.empty()) return divided_grid();
    const JsonPlace place = spec_.at("GlobalSize");
    const auto type = given("GlobalSizeType");
    const std::string unit = type ? type->text() : "CUDA";
    if (unit != "CUDA" && unit != "OpenCL" && unit != "Vulkan")
      type->fail(fmt::format("'{}' is none of CUDA, OpenCL, Vulkan", unit));
    sizes(place, "grid", "GlobalSize");
    if (unit != "OpenCL") return;
    // OpenCL counts threads.
    for (std::size_t i = 0; i < kAxes.size(); ++i)
      form_["grid"][i] =
          fmt::format("ceil_div({}, {})", form_["grid"][i].get<std::string>(), form_["block"][i].get<std::string>());
  }

  void divided_grid() {
    form_["problem_size"] = problem_;
    spec_origin("problem_size", "ProblemSize");
    for (std::size_t i = 0; i < problem_.size(); ++i) {
      const std::string name = fmt::format("GridDiv{}", kAxes[i]);
      const auto divisors = given(name.c_str());
      if (!divisors || divisors->items().empty()) continue;
      Json texts = Json::array();
      for (const JsonPlace& divisor : divisors->items()) texts.push_back(plain(divisor));
      const std::string key = fmt::format("grid_div_{}", static_cast<char>('x' + i));
      form_[key] = texts;
      spec_origin(key, name);
    }
  }

  // --- arguments

  void arguments() {
    std::size_t number = 0;
    for (const JsonPlace& place : spec_.at("Arguments").items()) {
      const Json& json = json_["KernelSpecification"]["Arguments"][number];
      place.allow_only({"Name", "Type", "MemoryType", "MemType", "AccessType", "Size", "TypeSize", "FillType",
                        "FillValue", "DataSource", "RandomSeed", "Output"});
      const std::string author = fmt::format("Arguments[{}]", number);
      ++number;
      if (is_constant(place)) {
        const std::string symbol = place.at("Name").text();
        spec_origin("constants." + symbol, author);
        form_["constants"][symbol] = argument(place, json, number);
      } else {
        spec_origin(fmt::format("arguments[{}]", form_["arguments"].size()), author);
        form_["arguments"].push_back(argument(place, json, number));
      }
    }
    if (!form_.contains("arguments")) spec_.at("Arguments").fail("no arguments");
  }

  std::string argument(const JsonPlace& place, const Json& json, std::size_t number) {
    const std::string type = place.at("Type").text();
    if (std::ranges::find(types(), type) == types().end())
      place.at("Type").fail(fmt::format("'{}' is not supported{}", type, suggestion(type, types())));
    const std::string memory = place.at("MemoryType").text();
    const bool scalar = memory == "Scalar" || (memory == "Symbol" && !place.find("Size"));
    if (scalar) return fmt::format("{}:{}", type, plain(place.at("FillValue")));
    if (memory != "Vector" && memory != "Symbol")
      place.at("MemoryType").fail(fmt::format("'{}' is not supported; there are Scalar, Vector, Symbol", memory));
    return vector(place, json, type, number);
  }

  /// A __constant__ variable, named by Name, and no parameter of the kernel.
  static bool is_constant(const JsonPlace& place) {
    const auto kind = place.find("MemType");
    return (kind && kind->text() == "Constant") || place.at("MemoryType").text() == "Symbol";
  }

  std::string vector(const JsonPlace& place, const Json& json, const std::string& type, std::size_t position) {
    const std::int64_t size = number(place.at("Size"));
    largest_ = std::max(largest_, size);
    const std::string direction = is_constant(place) ? "in" : direction_of(place, json);
    const std::string draw = direction == "out" ? "" : draw_of(place, json, type_named(type)->element);
    const auto name = place.find("Name");
    return fmt::format("{}={} {}[{}]{}{}", free_name(name ? name->text() : fmt::format("argument{}", position)),
                       direction, type, size, draw.empty() ? "" : ":", draw);
  }

  static std::string direction_of(const JsonPlace& place, const Json& json) {
    const auto output = json.find("Output");  // BAT's: what is looked at
    const bool looked_at = output != json.end() && *output == 1;
    const auto access = place.find("AccessType");
    if (!access) {
      if (!looked_at) place.fail("key 'AccessType' is missing: ReadOnly, WriteOnly or ReadWrite");
      return "inout";
    }
    if (access->text() == "ReadOnly") return looked_at ? "inout" : "in";
    if (access->text() == "WriteOnly") return "out";
    if (access->text() == "ReadWrite") return "inout";
    access->fail(fmt::format("'{}' is none of ReadOnly, WriteOnly, ReadWrite", access->text()));
  }

  /// Random floats are drawn by regimes, random integers up to FillValue.
  std::string draw_of(const JsonPlace& place, const Json& json, DType element) const {
    const JsonPlace type = place.at("FillType");
    const std::string fill = type.text();
    if (fill == "Constant") return plain(place.at("FillValue"));
    if (fill == "Random") {
      if (is_floating(element) || element == DType::boolean) return "";
      const auto most = json.find("FillValue");
      const bool any = most != json.end() && most->is_number() && most->get<double>() >= 1;
      return fmt::format("integers(0, {})", any ? static_cast<std::int64_t>(most->get<double>()) : 1);
    }
    if (fill == "BinaryRaw") return "@" + place.at("DataSource").text();
    if (fill == "Generator" && place.at("DataSource").text() == "i") return "iota";
    if (fill == "Generator") place.at("DataSource").fail("not supported: the generator 'i' alone is");
    type.fail(fmt::format("'{}' is not supported; there are Constant, Random, BinaryRaw, and Generator 'i'", fill));
  }

  /// Parameters and words of the language are no names of tensors.
  std::string free_name(std::string name) {
    for (char& c : name)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    while (!is_identifier(name) || is_taken_word(name) || space_.gene(name) ||
           std::ranges::find(names_, name) != names_.end())
      name = is_identifier(name) ? name + "_" : "_" + name;
    names_.push_back(name);
    return name;
  }

  // --- the one shape

  void shape() {
    Json sizes = Json::object();
    std::string condition;
    const auto add = [&](const std::string& wish, const std::string& value) {
      const std::string name = free_name(wish);
      sizes[name] = std::stoll(value);
      condition += fmt::format("{}{} == {}", condition.empty() ? "" : " && ", name, value);
    };
    if (problem_.size() == 1) add("problem_size", problem_[0]);
    if (problem_.size() > 1)
      for (std::size_t i = 0; i < problem_.size(); ++i)
        add(fmt::format("problem_{}", static_cast<char>('x' + i)), problem_[i]);
    if (problem_.empty()) add("elements", std::to_string(std::max<std::int64_t>(largest_, 1)));
    form_["shapes"] = Json::array({sizes});
    form_["requires"] = condition;
    spec_origin("shapes", problem_.empty() ? "Arguments" : "ProblemSize");
    spec_origin("requires", problem_.empty() ? "Arguments" : "ProblemSize");
  }

  const std::string& file_;
  Json json_;  // the same as root_
  JsonPlace root_, spec_;
  Family space_;
  Bindings constants_;
  std::vector<std::string> problem_;  // numbers
  std::vector<std::string> names_;    // of tensors and sizes
  std::int64_t largest_ = 0;          // Size of a vector
  Json form_ = Json::object();
  T1Form t1_;
};

}  // namespace

bool is_t1(const std::string& text) {
  const Json json = Json::parse(usual_keys_of_t1(text), nullptr, false);
  return json.is_object() && json.contains("KernelSpecification");
}

T1Form short_form_of_t1(const std::string& text, const std::string& file) {
  const std::string usual = usual_keys_of_t1(text);
  JsonPlace::read({{file, usual}}, file);  // says what is wrong with the JSON
  return Translator(usual, file).translate();
}

}  // namespace evo
