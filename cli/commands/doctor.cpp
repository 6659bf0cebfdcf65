#include "evaluator/pipeline/doctor.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/check/optional_tools.h"
#include "cli/commands/commands.h"
#include "cli/sources/templates.h"
#include "cli/subject/task_listing.h"
#include "cli/text/files.h"
#include "engine/device/device_kind.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;

struct DoctorRequest {
  std::string database = kDefaultDatabase;
  std::string templates;
  bool json = false;
};

/// What `evo doctor` found: of the machine, and of the templates and the database that were named.
struct Diagnosis {
  std::vector<Check> checks;
  bool can_run = false;      ///< Some device can be searched on.
  bool can_measure = false;  ///< It is a GPU.
};

std::vector<Check> check_templates(const std::string& wish) {
  try {
    const fs::path folder = find_templates(wish);
    std::vector<Check> checks;
    std::vector<std::string> good;
    for (const TaskListing& listing : list_tasks(read_templates(folder))) {
      if (listing.problem.empty()) {
        good.push_back(listing.name);
      } else {
        checks.push_back({"task " + listing.name, false, listing.problem, "correct the file that is named"});
      }
    }
    const bool any = !good.empty();
    checks.insert(checks.begin(),
                  {"templates", any,
                   fmt::format("{} in {}", any ? fmt::format("{}", fmt::join(good, ", ")) : "no task that loads",
                               folder.string()),
                   any ? "" : "name another folder with --templates or EVO_TEMPLATES"});
    return checks;
  } catch (const Error& error) {
    return {{"templates", false, error.what(), "name their folder with --templates or EVO_TEMPLATES"}};
  }
}

/// Why no new file can be made in a folder, found out by making one; empty when it can.
std::string why_not_writable(const fs::path& folder) {
  std::error_code error;
  // A folder that is not there yet will be made in the nearest one that is.
  fs::path existing = fs::absolute(folder, error);
  while (!fs::exists(existing, error) && existing.has_relative_path()) existing = existing.parent_path();
  const fs::path probe = existing / ".evo_doctor";
  try {
    write_file(probe, "");
  } catch (const Error& problem) {
    return problem.what();
  }
  fs::remove(probe, error);
  return {};
}

Check check_database(const std::string& path) {
  const std::string fix = "choose another place with --db";
  if (const std::string problem = why_not_writable(fs::path(path).parent_path()); !problem.empty()) {
    return {"database", false, problem, fix};
  }
  std::error_code error;
  if (!fs::exists(path, error)) return {"database", true, fmt::format("{}: none yet, a run makes it", path), ""};
  try {
    const Store store = Store::open(path, Store::Mode::read);
    const std::vector<std::string> problems = store.check();
    if (!problems.empty()) {
      return {"database", false, fmt::format("{}: {}", path, fmt::join(problems, "; ")),
              "move it away; a run makes a new one"};
    }
    return {"database", true,
            fmt::format("{}: sound; runs: {}, elites: {}", path, store.runs().size(), store.elites().size()), ""};
  } catch (const Error& problem) {
    return {"database", false, problem.what(), fix};
  }
}

Diagnosis diagnose(const DoctorRequest& request) {
  Diagnosis diagnosis;
  diagnosis.checks = examine_machine().checks;
  const auto append = [&](const std::vector<Check>& more) {
    diagnosis.checks.insert(diagnosis.checks.end(), more.begin(), more.end());
  };
  append(check_optional_tools());
  append(check_templates(request.templates));
  append({check_database(request.database)});
  const auto works = [&](const auto& is_it) {
    return std::ranges::any_of(diagnosis.checks, [&](const Check& check) { return check.ok && is_it(check); });
  };
  const bool templates = works([](const Check& check) { return check.name == "templates"; });
  diagnosis.can_run = templates && works([](const Check& check) { return !check.device_kind.empty(); });
  diagnosis.can_measure = templates && works([](const Check& check) {
                            return !check.device_kind.empty() && !kind_named(check.device_kind).modelled;
                          });
  return diagnosis;
}

std::string diagnosis_text(const Diagnosis& diagnosis, const Terminal& terminal) {
  Table table({"", "", ""});
  for (const Check& check : diagnosis.checks) {
    table.add({check.ok ? "works" : "missing", check.name, check.found}, check.ok ? Style::plain : Style::warning);
    if (!check.fix.empty()) table.add({"", "", "-> " + check.fix}, Style::warning);
  }
  std::string text = table.text(terminal) + "\n";
  if (diagnosis.can_measure)
    return text + styled(terminal, Style::good, "evo can search and measure on this machine") + "\n";
  if (diagnosis.can_run) return text + "evo can search on this machine, on the virtual GPU: latencies are modelled\n";
  return text + styled(terminal, Style::bad, "evo cannot run on this machine before what is missing above is fixed") +
         "\n";
}

std::string doctor_document(const Diagnosis& diagnosis) {
  Json json = json_document("doctor");
  json["can_run"] = diagnosis.can_run;
  json["can_measure"] = diagnosis.can_measure;
  json["checks"] = Json::array();
  for (const Check& check : diagnosis.checks) {
    json["checks"].push_back({{"name", check.name},
                              {"ok", check.ok},
                              {"found", check.found},
                              {"fix", check.fix.empty() ? Json(nullptr) : Json(check.fix)}});
  }
  return json_text(json);
}

int doctor(const DoctorRequest& request) {
  const Diagnosis diagnosis = diagnose(request);
  print("{}", request.json ? doctor_document(diagnosis) : diagnosis_text(diagnosis, terminal_of(stdout)));
  return diagnosis.can_run ? kDone : kMachine;
}

}  // namespace

void add_doctor(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(app, invocation, "doctor",
                                        "Show what works on this machine, what is missing, and how to fix it", doctor);
  add_usual_options(command, request);
}

}  // namespace evo::cli
