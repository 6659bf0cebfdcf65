#include "engine/short_form/short_form_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/base/dtype.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/device/device_limits.h"
#include "engine/short_form/t1_form.h"
#include "engine/short_form/tuner_form.h"
#include "engine/source/kernel_functions.h"
#include "engine/task/draw.h"
#include "engine/task/family.h"

namespace evo {
namespace {

// clang-format off
constexpr std::array<std::string_view, 36> kFormKeys = {
    "summary", "kernel", "genes", "tune_params", "restrict", "restrictions", "specialised", "shapes", "arguments",
    "constants", "problem_size", "grid", "grid_div_x", "grid_div_y", "grid_div_z", "block", "cluster", "shared",
    "max_registers", "reference", "reference_grid", "reference_block", "reference_shared", "reference_arguments",
    "reference_constants", "limits", "deterministic", "requires", "seeds", "options", "regimes", "sets", "objectives",
    "floor", "launches", "compiler_options"};
// clang-format on

std::string task_name_from(const std::string& file) {
  std::string name = file.substr(file.rfind('/') + 1);
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  if (!is_identifier(name)) name = "task_" + name;
  return name;
}

std::optional<DType> dtype_named(const std::string& name) {
  const auto type = type_named(name);
  if (!type || type->components != 1) return std::nullopt;
  return type->element;
}

}  // namespace

ShortFormReader::ShortFormReader(const std::string& file, const std::string& text, const ReadFile& read,
                                 const IsKnownHeader& known, const ShortFormJson& json)
    : file_(file),
      read_(read),
      sources_(read, known),
      root_(JsonPlace::read({{file, text}}, file)),
      json_(json.given),
      task_(json.task),
      family_(json.family),
      constants_(json.constants) {
  json_ = Json::parse(text);
  form_.task = task_name_from(file);
  folder_ = form_.task + "/";
  family_folder_ = folder_ + kTunedFamily + "/";
}

ShortForm ShortFormReader::read() {
  root_.allow_only({kFormKeys.begin(), kFormKeys.end()});
  origin(folder_ + "task.json", file_);
  origin(family_folder_ + "family.json", file_);
  origin(folder_ + "reference.cu", file_ + (root_.find("reference") ? ": reference" : ": kernel"));
  for (const auto& [fact, value] : facts_of(DeviceLimits{})) scope_.add(fact);
  if (!root_.find("kernel") && root_.find("tune_params"))
    root_.fail(fmt::format("key 'kernel' is missing: add it, or write ten lines with \"genes\": \"{}\"", file_));
  kernels();
  reference_ = root_.find("reference") ? function_place(root_.at("reference"), kernel_.file) : kernel_;
  author_files();
  origin(family_folder_ + "kernel.cu", kernel_.file);
  compiler_options();
  shapes();
  genes();
  options();
  arguments();
  limits();
  constants();
  restrictions();
  geometry();
  find_first_genome();
  check_kernel_names();
  refuse_own_values();
  kernel_file();
  reference();
  family_json();
  task_json();
  return std::move(form_);
}

void ShortFormReader::origin(const std::string& made, const std::string& author) {
  form_.origins.emplace_back(made, author);
}

void ShortFormReader::task_origin(const std::string& made, const std::string& author) {
  origin(fmt::format("{}task.json: {}", folder_, made), fmt::format("{}: {}", file_, author));
}

void ShortFormReader::family_origin(const std::string& made, const std::string& author) {
  origin(fmt::format("{}family.json: {}", family_folder_, made), fmt::format("{}: {}", file_, author));
}

void ShortFormReader::kernels() {
  const auto launches = root_.find("launches");
  if (!launches) {
    launches_ = {root_};
    launched_ = {function_place(root_.at("kernel"), {})};
  } else {
    launches_ = launches->items();
    if (launches_.empty()) launches->fail("at least one launch is needed");
    // The kernel beside them may be a file alone.
    const std::string usual = root_.find("kernel") ? root_.at("kernel").text() : "";
    const std::string file = usual.substr(0, usual.find(':', usual.find(".cu") == usual.npos ? 0 : usual.find(".cu")));
    for (const JsonPlace& launch : launches_) {
      launch.allow_only({"kernel", "grid", "block", "cluster", "shared", "arguments", "problem_size", "grid_div_x",
                         "grid_div_y", "grid_div_z", "when"});
      const auto kernel = found(launch, "kernel");
      launched_.push_back(
          function_place(kernel ? *kernel : launch.at("kernel"), launched_.empty() ? file : launched_[0].file));
    }
    if (!root_.find("reference"))
      root_.fail("key 'reference' is missing: several launches need a kernel that computes the same in one");
  }
  kernel_ = launched_.front();
}

void ShortFormReader::compiler_options() {
  const auto place = root_.find("compiler_options");
  if (!place) return;
  std::vector<std::string> texts;
  for (const JsonPlace& item : place->one_or_more()) texts.push_back(item.text());
  try {
    compile_ = read_compile_options(texts);
  } catch (const Error& error) {
    place->fail(error.what());
  }
  if (!compile_.max_registers.empty() && root_.find("max_registers"))
    place->fail("\"max_registers\" says it already: -maxrregcount");
}

ShortFormReader::FunctionPlace ShortFormReader::function_place(const JsonPlace& place, const std::string& usual) {
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
  if (simple.find("${") != std::string::npos) return found;  // Once the genes are known.
  // A macro may make a name that is not seen here, but then the file has another one.
  if (std::ranges::find(kernels, simple) == kernels.end() && source.find(simple) == std::string::npos)
    place.fail(fmt::format("{} has no kernel {}{}", found.file, simple, suggestion(simple, kernels)));
  return found;
}

void ShortFormReader::author_files() {
  for (auto& [author, inside, text] : sources_.placed()) {
    const std::string path = folder_ + "source/" + inside;
    origin(path, author);
    form_.files[path] = std::move(text);
  }
}

void ShortFormReader::shapes() {
  const JsonPlace place = root_.at("shapes");
  std::vector<std::pair<std::string, JsonPlace>> members;
  if (place.is_object()) {
    members = place.members();
  } else {
    for (const JsonPlace& item : place.items()) members.emplace_back("", item);
  }
  if (members.empty()) place.fail("at least one shape is needed: [{\"N\": 1024}]");
  for (const auto& [parameter, value] : members.front().second.members()) {
    if (expr::is_reserved(parameter) || facts_of(DeviceLimits{}).contains(parameter))
      value.fail(fmt::format("'{}' means something else in expressions: give the size another name", parameter));
    parameters_.push_back(parameter);
  }
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

void ShortFormReader::options() {
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

bool ShortFormReader::is_type_option(const std::string& name) const {
  const auto option = options_.find(name);
  if (option == options_.end() || option->second.empty()) return false;
  return std::ranges::all_of(option->second, [](const Value& value) {
    return std::holds_alternative<std::string>(value) && dtype_named(std::get<std::string>(value));
  });
}

namespace {

ShortForm read_plain_file(const std::string& file, const std::string& text, const ReadFile& read,
                          const IsKnownHeader& known) {
  using Json = nlohmann::ordered_json;
  Json given = Json::object(), task = Json::object(), family = Json::object(), constants = Json::object();
  return ShortFormReader(file, text, read, known, {given, task, family, constants}).read();
}

template <typename Form>
ShortForm read_translated(const std::string& file, const Form& translated, const ReadFile& read,
                          const IsKnownHeader& known) {
  try {
    ShortForm form = read_plain_file(file, translated.text, read, known);
    for (auto& [made, author] : form.origins) author = with_author(author, translated.places);
    return form;
  } catch (const Error& error) {
    throw usage_error(with_author(error.what(), translated.places));
  }
}

}  // namespace

ShortForm read_short_form(const std::string& file, const ReadFile& read, const IsKnownHeader& known) {
  const std::string text = read(file);
  return is_t1(text) ? read_translated(file, short_form_of_t1(text, file), read, known)
                     : read_translated(file, form_of_tuner(text, file), read, known);
}

}  // namespace evo
