#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/report/front_plot.h"
#include "cli/report/pareto_front.h"
#include "cli/subject/elite_table.h"
#include "cli/subject/json.h"
#include "cli/text/files.h"

namespace evo::cli {
namespace {

struct FrontRequest {
  FrontFilter filter;
  std::string svg;
  std::string database = kDefaultDatabase;
  bool json = false;
};

std::string front_text(const Front& front, const Terminal& terminal) {
  Table table({fmt::format(">{} us", timing_word(front.modelled)), ">error", ">id", "objective", "genome or rival"});
  std::vector<FrontPoint> shown = front.rivals;
  for (const FrontPoint& point : front.candidates)
    if (point.on_front) shown.push_back(point);
  std::ranges::stable_sort(shown, {}, &FrontPoint::latency_us);
  for (const FrontPoint& point : shown)
    table.add({microseconds(point.latency_us), error_figure(point.error),
               point.candidate ? std::to_string(point.candidate) : "-", point.objective,
               point.candidate ? to_text(point.genome) : point.name});
  return fmt::format("{} on {}, {}\n{}{} candidates are no faster and no more accurate than one of these\n",
                     styled(terminal, Style::bold, front.shape), front.device, front.options, table.text(terminal, 2),
                     std::ranges::count(front.candidates, false, &FrontPoint::on_front));
}

nlohmann::ordered_json point_json(const FrontPoint& point) {
  nlohmann::ordered_json json = {{"latency_us", point.latency_us}, {"error", point.error}};
  if (!point.candidate) {
    json["name"] = point.name;
    return json;
  }
  json["candidate"] = point.candidate;
  json["objective"] = point.objective;
  json["genome"] = nlohmann::ordered_json::parse(to_json(point.genome));
  json["on_front"] = point.on_front;
  return json;
}

/// The fronts that runs keep, of what the filter wants.
std::vector<EliteRow> kept_fronts(const Store& store, const FrontFilter& filter) {
  std::vector<EliteRow> rows = store.front({.task = filter.task, .device = filter.device});
  std::erase_if(rows, [&](const EliteRow& row) {
    return !filter.shape.empty() &&
           std::ranges::none_of(row.timings, [&](const Timing& timing) { return timing.shape == filter.shape; });
  });
  return rows;
}

std::string kept_text(const std::vector<EliteRow>& rows, const Terminal& terminal) {
  std::string text;
  for (const std::vector<EliteRow>& front : by_key(rows))
    text += fmt::format("{}: the front that evo run --pareto keeps, by the largest error of all cases\n{}\n",
                        styled(terminal, Style::bold, elite_heading(front.front())), elite_table(front, terminal));
  return text;
}

std::string front_document(const std::vector<Front>& fronts, const std::vector<EliteRow>& kept,
                           const FrontFilter& filter) {
  nlohmann::ordered_json json = json_document("front");
  json["task"] = filter.task;
  json["regime"] = filter.regime;
  json["fronts"] = nlohmann::ordered_json::array();
  for (const Front& front : fronts) {
    nlohmann::ordered_json one = {{"shape", front.shape},
                                  {"device", front.device},
                                  {"options", front.options},
                                  {"timing", timing_word(front.modelled)}};
    one["candidates"] = one["rivals"] = nlohmann::ordered_json::array();
    for (const FrontPoint& point : front.candidates) one["candidates"].push_back(point_json(point));
    for (const FrontPoint& point : front.rivals) one["rivals"].push_back(point_json(point));
    json["fronts"].push_back(std::move(one));
  }
  json["kept"] = elites_json(kept);
  return json_text(json);
}

int front(const FrontRequest& request) {
  const Store store = Store::open(request.database, Store::Mode::read);
  const std::vector<Front> fronts = pareto_fronts(store, request.filter);
  const std::vector<EliteRow> kept = kept_fronts(store, request.filter);
  if (fronts.empty() && kept.empty()) {
    throw usage_error(fmt::format(
        "no results of task {} that timed one shape{}{} with errors of regime {} in {}: evo run --task {} --shapes S "
        "finds some",
        request.filter.task, request.filter.shape.empty() ? "" : " " + request.filter.shape,
        request.filter.device.empty() ? "" : " on " + request.filter.device, request.filter.regime,
        store.path().string(), request.filter.task));
  }
  if (!request.svg.empty()) write_file(request.svg, front_svg(fronts, request.filter.regime));
  if (request.json) {
    print("{}", front_document(fronts, kept, request.filter));
    return kDone;
  }
  for (const Front& one : fronts) print("{}\n", front_text(one, terminal_of(stdout)));
  print("{}", kept_text(kept, terminal_of(stdout)));
  return kDone;
}

}  // namespace

void add_front(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(
      app, invocation, "front",
      "Show the fastest kernel at each accuracy, over all objectives, beside rivals; as a table or a picture", front);
  add_option(command, "--task", "TASK", request.filter.task, "The task")->required();
  add_option(command, "--device", "DEVICE", request.filter.device, "Only results of this device");
  add_option(command, "--shape", "SHAPE", request.filter.shape,
             "Only runs that timed this shape, by its name in evo elites");
  add_option(command, "--regime", "NAME", request.filter.regime, "The draws whose errors count");
  add_option(command, "--rivals", "FILE", request.filter.rivals,
             R"(JSON lines like {"name": "cuDNN e4m3", "shape": "mission", "us": 10.8, "error": 0.035})");
  add_option(command, "--svg", "FILE", request.svg, "Also draw latency over error to this file");
  add_usual_options(command, request);
}

}  // namespace evo::cli
