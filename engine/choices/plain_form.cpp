#include "engine/choices/plain_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/expression/json_value.h"
#include "engine/expression/value.h"
#include "engine/source/host_code.h"
#include "engine/source/kernel_functions.h"
#include "engine/source/source_mutation.h"

namespace evo {
namespace {

using Json = nlohmann::ordered_json;

/// A launch of the file's first kernel as it might be, which shows how one is written.
std::string likely_launch(const std::string& source) {
  const std::vector<std::string> kernels = kernel_functions(source);
  if (kernels.empty()) return "kernel<<<ceil_div(N, 256), 256>>>(y=out float[N], x=float[N], N)";
  const std::string code = code_only(source);
  const std::regex declaration(fmt::format(R"(__global__[^;{{}}]*?\b{}\s*\(([^()]*)\))", kernels.front()));
  std::vector<std::string> arguments;
  std::smatch found;
  if (std::regex_search(code, found, declaration))
    for (const std::string& parameter : split(found.str(1), ',')) {
      static const std::regex qualifiers(R"(\bconst\b|__restrict(__)?\b|\*)"), last_word(R"(\s*(.*?)\s*\b(\w+)\s*)");
      const std::string plain = std::regex_replace(parameter, qualifiers, " ");
      std::smatch parts;
      if (!std::regex_match(plain, parts, last_word)) continue;
      const bool pointer = parameter.find('*') != std::string::npos,
                 read = parameter.find("const") != std::string::npos;
      if (pointer)
        arguments.push_back(fmt::format("{}={}{}[N]", parts.str(2), read ? "" : "out ", parts.str(1)));
      else
        arguments.push_back(parts.str(1) == "float" || parts.str(1) == "double" ? parts.str(1) + ":1" : "N");
    }
  return fmt::format("{}<<<ceil_div(N, 256), 256>>>({})", kernels.front(), fmt::join(arguments, ", "));
}

LaunchLine launch_of(const PlainKernel& kernel, const std::string& source) {
  if (!kernel.launch.empty()) return parse_launch_line(kernel.launch);
  const std::vector<std::string> lines = comments_in(source, kLaunchComment);
  if (lines.size() == 1) return parse_launch_line(lines.front());
  throw usage_error(fmt::format("{}: {} how it is launched: give --launch, such as '{}', or a line '{}...' in the file",
                                kernel.file, lines.empty() ? "nothing says" : "several lines say",
                                likely_launch(device_code(source)), kLaunchComment));
}

/// {"N": 4096} of "N=4096"
Json shape_of(const std::string& size) {
  Json shape = Json::object();
  for (const std::string& part : split(size, ',')) {
    const std::size_t equal = part.find('=');
    const std::string name(trim(std::string_view(part).substr(0, equal)));
    const auto value = equal == std::string::npos
                           ? std::nullopt
                           : number_in<std::int64_t>(trim(std::string_view(part).substr(equal + 1)));
    if (!is_identifier(name) || !value)
      throw usage_error(fmt::format("size '{}': write NAME=NUMBER,NAME=NUMBER", size));
    if (shape.contains(name)) throw usage_error(fmt::format("size '{}': {} is given twice", size, name));
    shape[name] = *value;
  }
  return shape;
}

Json shapes_of(const PlainKernel& kernel, const std::string& source) {
  const std::vector<std::string> sizes = kernel.sizes.empty() ? comments_in(source, kSizeComment) : kernel.sizes;
  if (sizes.empty())
    throw usage_error(
        fmt::format("{}: nothing says at which sizes it runs: give --size N=4096, or a line '{}N=4096' in "
                    "the file",
                    kernel.file, kSizeComment));
  Json shapes = Json::array();
  for (const std::string& size : sizes) shapes.push_back(shape_of(size));
  return shapes;
}

/// The expressions with the author's own numbers in the place of genes.
std::vector<std::string> as_written(std::vector<std::string> expressions, const std::vector<Choice>& choices) {
  for (std::string& text : expressions)
    for (const Choice& choice : choices)
      text = std::regex_replace(text, std::regex(fmt::format(R"(\b{}\b)", choice.gene)), expr::to_string(choice.own));
  return expressions;
}

constexpr std::string_view kWithChoices = ".choices.cu";

/// "y" of "y=out float[N]"; of an argument that is no tensor all of it.
std::string name_of(const std::string& argument) {
  static const std::regex tensor(R"(\s*([A-Za-z_]\w*)\s*=[^=].*)");
  std::smatch found;
  return std::regex_match(argument, found, tensor) ? found.str(1) : argument;
}

}  // namespace

std::string authors_name(const std::string& file) {
  return file.ends_with(kWithChoices) ? file.substr(0, file.size() - kWithChoices.size()) + ".cu" : file;
}

PlainForm plain_form(const PlainKernel& kernel, const ReadFile& read) {
  const std::string source = read(kernel.file);
  const LaunchLine launch = launch_of(kernel, source);
  const Json shapes = shapes_of(kernel, source);
  std::vector<std::string> names;
  for (const auto& [name, value] : shapes.front().items()) names.push_back(name);
  const KernelChoices found = find_choices(device_code(source), launch, names);
  if (found.choices.empty())
    throw usage_error(
        fmt::format("{}: nothing of {} can be chosen: it has no constants, loops, pointers or block that "
                    "evo may change",
                    kernel.file, launch.kernel));

  const std::string stem = kernel.file.substr(0, kernel.file.rfind('.'));
  const std::string entry = stem + ".tuned.cu", header = stem + ".choices.h", coarse = stem + ".coarse.cu",
                    with_choices = stem + std::string(kWithChoices);
  Json form = {{"kernel", fmt::format("{}:{}", entry, found.launch.kernel)}};
  for (const Choice& choice : found.choices) form["genes"][choice.gene]["values"] = to_json<Json>(choice.values);
  form["shapes"] = shapes;
  std::vector<std::string> arguments = found.launch.arguments;
  arguments.insert(arguments.end(), found.coarse_arguments.begin(), found.coarse_arguments.end());
  form["arguments"] = arguments;
  form["grid"] = found.launch.grid;
  form["block"] = found.launch.block;
  if (!found.launch.shared.empty()) form["shared"] = found.launch.shared;
  if (std::ranges::find(found.choices, kFastMath, &Choice::gene) != found.choices.end())
    form["compiler_options"] = {"${fast_math ? '-use_fast_math' : '-ftz=false'}"};
  form["reference"] = fmt::format("{}:{}", kernel.file, launch.kernel);
  form["reference_grid"] = as_written(found.launch.grid, found.choices);
  form["reference_block"] = as_written(found.launch.block, found.choices);
  if (!found.launch.shared.empty()) form["reference_shared"] = as_written({found.launch.shared}, found.choices).front();
  if (arguments != as_written(found.launch.arguments, found.choices))
    for (const std::string& argument : as_written(found.launch.arguments, found.choices))
      form["reference_arguments"].push_back(name_of(argument));

  PlainForm plain{stem + ".json", {stem + ".json", entry, header, with_choices}, {}, found.choices};
  std::map<std::string, std::string> made = {
      {plain.file, form.dump(2)},
      {header, found.header},
      {with_choices, found.source},
      {entry, fmt::format("#include \"{}\"\n#include \"{}\"\n", header, with_choices)}};
  if (!found.coarse.empty()) {
    plain.made.push_back(coarse);
    made[coarse] = found.coarse;
    made[entry] += fmt::format("#include \"{}\"\n", coarse);
  }
  plain.read = [made, read](const std::string& path) {
    const auto file = made.find(path);
    return file == made.end() ? read(path) : file->second;
  };
  return plain;
}

}  // namespace evo
