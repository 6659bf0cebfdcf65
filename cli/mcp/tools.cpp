#include "cli/mcp/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/llm/answer.h"
#include "cli/subject/arguments.h"
#include "cli/text/json_text.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

constexpr std::size_t kLongestWord = 200;  // bytes of an argument
constexpr std::size_t kMostWords = 64;     // in a list

enum class ArgumentKind { word, words, number, options, flag, proposals };

/// An argument of a tool.
struct ToolParameter {
  const char* name;
  ArgumentKind kind;
  const char* option;  ///< Of the command; empty: it stands by itself.
  const char* doc;
};

struct Tool {
  const char* name;
  const char* command;
  const char* title;
  const char* doc;
  std::vector<ToolParameter> parameters;
  std::vector<const char*> required;
  bool reads = true;  ///< It changes nothing.
};

const ToolParameter kOfTask{"task", ArgumentKind::word, "--task", "The task's name, as the tool tasks lists it"};
const ToolParameter kOfDevice{"device", ArgumentKind::word, "--device",
                              "auto, vgpu, vgpu:h200, cuda:0: as evo run --device"};
const ToolParameter kObjective{"objective", ArgumentKind::word, "--objective",
                               "How large errors may be: an objective of the task"};
const ToolParameter kCandidate{"candidate", ArgumentKind::number, "", "The candidate's number"};
const ToolParameter kShapes{"shapes", ArgumentKind::words, "--shapes",
                            "Shapes by name, or by all their sizes: 1,8,512,64"};
const ToolParameter kOptions{"options", ArgumentKind::options, "--option",
                             "Options of the task, such as {\"out\": \"bf16\"}"};
const ToolParameter kTime{"time", ArgumentKind::word, "--time", "Stop after this time: 90s, 10m"};

const std::vector<Tool> kTools = {
    {"tasks", "tasks", "List tasks", "The tasks with their families, options, objectives and shapes.", {}, {}},
    {"run",
     "run",
     "Search for a kernel",
     "Search for the fastest correct kernel of a task. Every candidate is compiled, checked against a reference, "
     "watched by a sanitiser on a virtual GPU, and timed. Give evals or time: a search takes minutes.",
     {kOfTask,
      kOfDevice,
      kShapes,
      kOptions,
      kObjective,
      {"family", ArgumentKind::word, "--family", "Search only this family"},
      {"evals", ArgumentKind::number, "--evals", "Stop after so many candidates"},
      kTime,
      {"seed", ArgumentKind::number, "--seed", "The same seed repeats a modelled search"},
      {"resume", ArgumentKind::number, "--resume", "Continue this run instead of a new one; only with evals and time"}},
     {},
     false},
    {"elites",
     "elites",
     "List the best kernels",
     "The three best kernels of each task, device and objective, with the states of their checks.",
     {kOfTask, kOfDevice, kObjective},
     {}},
    {"show",
     "show",
     "Show a candidate",
     "A candidate's genome, verdict, builds, timings, errors and sources.",
     {kCandidate},
     {"candidate"}},
    {"diagnose",
     "diagnose",
     "Diagnose a wrong kernel",
     "Find the first wrong stage of a candidate that gives wrong answers.",
     {kCandidate, kOfDevice},
     {"candidate"}},
    {"model",
     "model",
     "Explain where time goes",
     "Where a candidate's time goes by the cost model: pipes, stalls, traffic, occupancy of each launch.",
     {kCandidate, kShapes, {"explain", ArgumentKind::flag, "--explain", "As a table for people instead of JSON"}},
     {"candidate"}},
    {"propose",
     "run",
     "Evaluate proposals",
     "Evaluate your own genomes, alleles, patches or kernels and nothing else. They pass the same gates as a "
     "search's. Give run, so that proposals may begin with its candidates ({\"like\": TICKET}), or task for a new run.",
     {{"proposals", ArgumentKind::proposals, "", "Each as docs/proposer.md describes it"},
      {"run", ArgumentKind::number, "--resume", "Add them to this run"},
      kOfTask,
      kOfDevice,
      kShapes,
      kOptions,
      kObjective,
      kTime},
     {"proposals"},
     false}};

const Tool* find_tool(const std::string& name) {
  const auto tool = std::ranges::find(kTools, name, [](const Tool& each) { return std::string_view(each.name); });
  return tool == kTools.end() ? nullptr : &*tool;
}

Json schema_of(const ToolParameter& parameter) {
  Json schema;
  switch (parameter.kind) {
    case ArgumentKind::word:
      schema = {{"type", "string"}};
      break;
    case ArgumentKind::words:
      schema = {{"type", "array"}, {"items", {{"type", "string"}}}};
      break;
    case ArgumentKind::number:
      schema = {{"type", "integer"}, {"minimum", 0}};
      break;
    case ArgumentKind::options:
      schema = {{"type", "object"}, {"additionalProperties", {{"type", {"string", "number", "boolean"}}}}};
      break;
    case ArgumentKind::flag:
      schema = {{"type", "boolean"}};
      break;
    case ArgumentKind::proposals:
      schema = answer_schema()["properties"]["proposals"];
      break;
  }
  schema["description"] = parameter.doc;
  return schema;
}

[[noreturn]] void refuse(const ToolParameter& parameter, const char* expected) {
  throw usage_error(fmt::format("{}: expected {}", parameter.name, expected));
}

/// A word that a command line takes for nothing else.
std::string word_in(const ToolParameter& parameter, const Json& value) {
  if (!value.is_string()) refuse(parameter, "a string");
  std::string word = value.get<std::string>();
  if (word.empty() || word.size() > kLongestWord || word.find('\0') != std::string::npos)
    refuse(parameter, "a string of 1 to 200 characters");
  return word;
}

std::string scalar_in(const ToolParameter& parameter, const Json& value) {
  if (value.is_string()) return word_in(parameter, value);
  if (!value.is_number() && !value.is_boolean()) refuse(parameter, "strings, numbers or booleans");
  return value.dump();
}

void add_option_of(const ToolParameter& parameter, const std::string& value, std::vector<std::string>& arguments) {
  // In one word: a value that begins with a dash is no option.
  arguments.push_back(*parameter.option == '\0' ? value : fmt::format("{}={}", parameter.option, value));
}

void add_argument(const ToolParameter& parameter, const Json& value, ToolCommand& command) {
  std::vector<std::string>& arguments = command.arguments;
  switch (parameter.kind) {
    case ArgumentKind::word:
      return add_option_of(parameter, word_in(parameter, value), arguments);
    case ArgumentKind::words:
      if (!value.is_array() || value.size() > kMostWords) refuse(parameter, "a list of at most 64 strings");
      for (const Json& word : value) add_option_of(parameter, word_in(parameter, word), arguments);
      return;
    case ArgumentKind::number:
      if (!value.is_number_unsigned()) refuse(parameter, "a whole number");
      return add_option_of(parameter, value.dump(), arguments);
    case ArgumentKind::options:
      if (!value.is_object() || value.size() > kMostWords) refuse(parameter, "an object");
      for (const auto& [name, option] : value.items())
        add_option_of(parameter, fmt::format("{}={}", name, scalar_in(parameter, option)), arguments);
      return;
    case ArgumentKind::flag:
      if (!value.is_boolean()) refuse(parameter, "true or false");
      if (value == true) {
        arguments.emplace_back(parameter.option);
        command.json = false;
      }
      return;
    case ArgumentKind::proposals:
      if (!value.is_array() || value.empty() || value.size() > kMostWords)
        refuse(parameter, "a list of 1 to 64 proposals");
      command.proposals = Json{{"proposals", value}}.dump(-1, ' ', false, Json::error_handler_t::replace);
      return;
  }
}

/// A search ends, whatever an agent asks for.
void add_time(const Json& arguments, const ToolSettings& settings, std::vector<std::string>& command) {
  const auto most = parse_duration("--most-time", settings.most_time);
  const auto given = arguments.find("time");
  if (given == arguments.end()) return command.push_back("--time=" + settings.most_time);
  if (parse_duration("time", given->get<std::string>()) > most)
    throw usage_error(fmt::format("time: at most {} here (evo mcp --most-time)", settings.most_time));
}

}  // namespace

Json tool_list() {
  Json list = Json::array();
  for (const Tool& tool : kTools) {
    Json properties = Json::object();
    for (const ToolParameter& parameter : tool.parameters) properties[parameter.name] = schema_of(parameter);
    Json schema = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
    if (!tool.required.empty()) schema["required"] = tool.required;
    list.push_back(
        {{"name", tool.name},
         {"title", tool.title},
         {"description", tool.doc},
         {"inputSchema", schema},
         {"annotations", {{"readOnlyHint", tool.reads}, {"destructiveHint", false}, {"openWorldHint", false}}}});
  }
  return list;
}

bool has_tool(const std::string& name) {
  return find_tool(name) != nullptr;
}

ToolCommand tool_command(const std::string& name, const Json& arguments, const ToolSettings& settings) {
  const Tool* tool = find_tool(name);
  if (tool == nullptr) throw usage_error(fmt::format("there is no tool '{}'", name));
  if (!arguments.is_object()) throw usage_error("arguments: expected an object");
  ToolCommand command{{tool->command}, {}, true};
  for (const char* required : tool->required)
    if (!arguments.contains(required)) throw usage_error(fmt::format("{}: it is missing", required));
  for (const auto& [key, value] : arguments.items()) {
    const auto parameter =
        std::ranges::find(tool->parameters, key, [](const ToolParameter& p) { return std::string_view(p.name); });
    if (parameter == tool->parameters.end()) throw usage_error(fmt::format("{} takes no '{}'", name, key));
    add_argument(*parameter, value, command);
  }
  const bool searches = std::string_view(tool->command) == "run";
  if (searches) {
    add_time(arguments, settings, command.arguments);
    command.arguments.emplace_back("--progress");
    const bool continues = arguments.contains("resume") || arguments.contains("run");
    if (!continues && !arguments.contains("task")) throw usage_error("task: it is missing");
    if (!continues && !arguments.contains("device") && !settings.device.empty())
      command.arguments.push_back("--device=" + settings.device);
  }
  if (name != "tasks") command.arguments.push_back("--db=" + settings.database);
  const bool reads_templates = searches || name == "tasks";
  if (reads_templates && !settings.templates.empty()) command.arguments.push_back("--templates=" + settings.templates);
  if (command.json) command.arguments.emplace_back("--json");
  return command;
}

}  // namespace evo::cli
