#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/sources/templates.h"
#include "cli/subject/json.h"
#include "cli/subject/task_listing.h"
#include "engine/base/text.h"

namespace evo::cli {
namespace {

struct TasksRequest {
  std::string templates;
  bool json = false;
};

std::string names_of(const TaskListing& listing) {
  std::vector<std::string> names;
  for (const Family& family : listing.families) names.push_back(family.name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string options_of(const Task& task) {
  std::vector<std::string> options;
  for (const Option& option : task.options) {
    std::vector<std::string> values;
    for (const Value& value : option.values) values.push_back(expr::to_string(value));
    options.push_back(fmt::format("{}={}", option.name, fmt::join(values, "|")));
  }
  return options.empty() ? "none" : fmt::format("{}", fmt::join(options, " "));
}

std::string objectives_of(const Task& task) {
  std::vector<std::string> objectives;
  for (const Objective& objective : task.objectives) {
    const Limits& limits = objective.limits;
    std::string bounds = "limits by dtype";
    if (task.has_limits) {
      bounds = fmt::format("relative L2 <= {:g}", limits.relative_l2);
      if (limits.emulated_l2.times > 0)
        bounds = fmt::format("relative L2 <= {:g} times the emulation's + {:g}", limits.emulated_l2.times,
                             limits.emulated_l2.plus);
      if (limits.max_abs > 0) bounds += fmt::format(", largest <= {:g} of the RMS", limits.max_abs);
    }
    objectives.push_back(fmt::format("{} ({})", objective.name, bounds));
  }
  return fmt::format("{}", fmt::join(objectives, ", "));
}

std::string shape_text(const Task& task, const Shape& shape) {
  std::vector<std::string> sizes;
  for (const std::string& parameter : task.shape_parameters) {
    sizes.push_back(expr::to_string(shape.parameters.at(parameter)));
  }
  return fmt::format("{} ({})", shape.name, fmt::join(sizes, ","));
}

std::string shapes_of(const Task& task) {
  return joined(task.shapes, ", ", [&](const Shape& shape) { return shape_text(task, shape); });
}

std::string task_text(const TaskListing& listing, const Terminal& terminal) {
  if (!listing.problem.empty()) {
    return fmt::format("{}  {}\n", styled(terminal, Style::bold, listing.name),
                       styled(terminal, Style::bad, one_line(listing.problem)));
  }
  Table facts({"", ""});
  facts.add({"families", names_of(listing)});
  facts.add({"options", options_of(listing.task)});
  facts.add({"objectives", objectives_of(listing.task)});
  facts.add(
      {"shapes", fmt::format("{}  ({})", shapes_of(listing.task), fmt::join(listing.task.shape_parameters, ","))});
  const std::string summary = listing.task.summary.empty() ? "" : "  " + one_line(listing.task.summary);
  return fmt::format("{}{}\n{}", styled(terminal, Style::bold, listing.name), summary, facts.text(terminal, 2));
}

Json emulation_json(const Limits& limits) {
  if (!limits.follow_emulation()) return nullptr;
  const auto json = [](const EmulationLimit& limit) -> Json {
    if (limit.times == 0) return nullptr;
    return {{"times", limit.times}, {"plus", limit.plus}};
  };
  return {{"relative_l2", json(limits.emulated_l2)}, {"row_l2", json(limits.emulated_row)}};
}

Json task_json(const TaskListing& listing) {
  if (!listing.problem.empty()) return {{"name", listing.name}, {"problem", listing.problem}};
  const Task& task = listing.task;
  Json families = Json::array();
  for (const Family& family : listing.families) {
    families.push_back({{"name", family.name},
                        {"summary", family.summary},
                        {"requires", family.legal.text()},
                        {"genes", family.genes.size()}});
  }
  Json options = Json::object();
  for (const Option& option : task.options) {
    for (const Value& value : option.values) options[option.name].push_back(value_json(value));
  }
  Json objectives = Json::array();
  for (const Objective& objective : task.objectives) {
    const Limits& limits = objective.limits;
    objectives.push_back({{"name", objective.name},
                          {"relative_l2", positive_or_null(limits.relative_l2)},
                          {"cosine", positive_or_null(limits.cosine)},
                          {"max_abs", positive_or_null(limits.max_abs)},
                          {"emulation", emulation_json(limits)}});
  }
  Json sets = Json::object();
  for (const auto& [kind, set] : task.shape_sets) sets[kind] = {{"timed", set.timed}, {"validated", set.validated}};
  return {{"name", task.name},
          {"problem", nullptr},
          {"summary", task.summary},
          {"hash", task.hash},
          {"options", options},
          {"objectives", objectives},
          {"shapes", shapes_json(task.shapes)},
          {"shape_sets", sets},
          {"families", families}};
}

std::string tasks_document(const std::vector<TaskListing>& tasks) {
  Json json = json_document("tasks");
  json["tasks"] = list_json(tasks, task_json);
  return json_text(json);
}

int tasks(const TasksRequest& request) {
  const std::filesystem::path folder = find_templates(request.templates);
  const std::vector<TaskListing> listings = list_tasks(read_templates(folder));
  std::string text;
  std::size_t malformed = 0;
  for (const TaskListing& listing : listings) {
    text += task_text(listing, terminal_of(stdout)) + '\n';
    malformed += listing.problem.empty() ? 0 : 1;
  }
  text += fmt::format("in {}; evo space --task NAME shows the genes\n", folder.string());
  print("{}", request.json ? tasks_document(listings) : text);
  return malformed == 0 ? kDone : kWrongUsage;
}

}  // namespace

void add_tasks(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(app, invocation, "tasks",
                                        "List the tasks with their families, options, objectives and shapes", tasks);
  add_usual_options(command, request);
}

}  // namespace evo::cli
