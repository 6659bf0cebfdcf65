#include "cli/run/run_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "cli/model/modeller.h"
#include "cli/run/remote_hosts.h"
#include "cli/run/slurm.h"
#include "cli/run/warm_start.h"
#include "cli/sources/templates.h"
#include "cli/subject/arguments.h"
#include "cli/subject/known_attacks.h"
#include "cli/subject/restore.h"
#include "cli/text/streams.h"
#include "cli/text/suggest.h"
#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/record/enumerators.h"
#include "engine/search/presearch.h"
#include "engine/search/surrogate_screening.h"
#include "engine/strategy/strategies.h"
#include "engine/task/candidate.h"
#include "evaluator/base/random.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

void add_notice(PreparedRun& run, const std::string& line) {
  run.notice += (run.notice.empty() ? "" : "; ") + line;
}

/// Short enough to type again.
std::uint64_t random_seed() {
  return fresh_salt() >> 32;
}

/// The same seed gives the same salt. It comes from a stream of its own, because the strategy uses the seed itself.
std::uint64_t salt_of(std::uint64_t seed) {
  return Rng(seed ^ 0x73616c7473616c74).next();
}

std::string checked_strategy(const std::string& name) {
  const std::vector<std::string> names = strategy_names();
  if (name.empty()) return names.front();
  if (std::find(names.begin(), names.end(), name) == names.end()) throw unknown_name("strategy", name, names);
  return name;
}

std::string checked_objective(const Task& task, const std::string& name) {
  std::vector<std::string> names;
  for (const Objective& objective : task.objectives) {
    names.push_back(objective.name);
    if (name.empty() || objective.formerly != name) continue;
    write_to_stderr(fmt::format("--objective {} is now called {}\n", name, objective.name));
    return objective.name;
  }
  for (const std::string& part : name.empty() ? std::vector<std::string>() : split(name, '@'))
    if (std::find(names.begin(), names.end(), part) == names.end())
      throw unknown_name("objective", part, names, fmt::format("of task {}", task.name));
  return name;
}

std::optional<std::uint64_t> evaluation_limit(const RunRequest& request) {
  if (request.evaluations.empty()) return std::nullopt;
  return parse_number("--evals", request.evaluations, 1);
}

std::optional<std::chrono::milliseconds> time_limit(const RunRequest& request) {
  if (request.time.empty()) return {};
  return parse_duration("--time", request.time);
}

bool names_limit(const RunRequest& request) {
  return !request.evaluations.empty() || !request.time.empty() || !request.proposals.empty();
}

/// The loosest objective whose candidates are those of this one, and more.
std::string loosest(const Task& task, const std::string& objective) {
  const auto is_looser = [](const Limits& a, const Limits& b) {
    return !a.follow_emulation() && a.relative_l2 >= b.relative_l2 && a.row_l2 >= b.row_l2 && a.max_abs >= b.max_abs &&
           a.cosine <= b.cosine;
  };
  const Objective* found = &task.objective(objective);
  for (const Objective& other : task.objectives)
    if (is_looser(other.limits, found->limits)) found = &other;
  return found->name;
}

/// Sets the run up to keep the front of latency over error.
void keep_front(const RunRequest& request, PreparedRun& run) {
  if (request.pareto != "error") throw usage_error(fmt::format("--pareto {}: expected error", request.pareto));
  if (!request.screen.empty() && request.screen != "1")
    throw usage_error("--pareto error cannot be combined with --screen: the cost model knows no errors");
  RunInfo& info = run.info;
  info.keeps_front = true;
  const std::string asked = info.target.objective, wider = loosest(run.task, asked);
  if (asked == wider) return;
  // Otherwise a point that errs as little as was asked for might not do so where that is asked for.
  const std::string both = fmt::format("{}@{}", wider, asked);
  const bool has_regimes = run.task.regimes_of(both).size() > run.task.regimes_of(wider).size();
  info.target.objective = has_regimes ? both : wider;
  add_notice(run, fmt::format("--pareto error: what keeps the limits of {}, which are wider than those of {}, counts{}",
                              wider, asked, has_regimes ? fmt::format(", in all regimes of {}", asked) : ""));
}

/// Whether the cost model guides a run by default: for evolve on a GPU that has a virtual model. Predictions cost less
/// there than measurements. The other strategies are baselines and stay as they are.
bool guided_by_default(std::string_view strategy, const DeviceInfo& device) {
  return strategy.starts_with("evolve") && !kind_named(device.kind).modelled && find_virtual_gpu_like(device.name);
}

std::uint64_t screen_of(const RunRequest& request, const RunInfo& info, const DeviceInfo& device) {
  if (!request.proposals.empty()) return 1;  // Nothing else is proposed.
  if (!request.screen.empty()) return parse_number("--screen", request.screen, 1, kMostScreened);
  if (info.keeps_front) return 1;
  return guided_by_default(info.strategy, device) ? ScreeningOptions().among : 1;
}

/// A short run does not repay a long pre-search.
std::size_t presearch_of(const RunRequest& request, const RunInfo& info, const DeviceInfo& device) {
  if (!request.presearch.empty()) return parse_number("--presearch", request.presearch, 0, kMostPresearched);
  if (info.screen == 1 || !guided_by_default(info.strategy, device)) return 0;
  const std::size_t usual = Presearch().genomes;
  return info.evaluation_limit ? std::min<std::size_t>(usual, 2 * *info.evaluation_limit) : usual;
}

/// The GPU of a run. GPUs are numbered anew at each start of the machine: it is found by its UUID.
DeviceInfo same_device(const RunRow& row) {
  const DeviceRecord& record = row.info.device;
  const std::optional<FoundDevice> found = find_again(record);
  if (found && found->same) return found->device;
  throw machine_error(fmt::format("run {} was made on {} ({}), which is not in this machine: start a new run instead",
                                  row.id, record.name, record.uuid));
}

/// The further GPUs of a resumed run, as far as they are there. The notice names the others.
std::vector<DeviceInfo> further_devices_again(const RunRow& row, std::string& notice) {
  std::vector<DeviceInfo> devices;
  for (const DeviceRecord& record : row.info.further_devices) {
    const std::optional<FoundDevice> found = find_again(record);
    if (found && found->same) {
      devices.push_back(found->device);
    } else {
      notice += fmt::format("{}{} ({}) is not in this machine: the run continues without it",
                            notice.empty() ? "" : "; ", record.id, record.uuid);
    }
  }
  return devices;
}

/// Results of measured runs on several devices come as they finish, so that none waits for the slowest. Those of
/// modelled runs, which repeat, come as asked. So do those of runs with a proposer: a resumed run cannot ask it again.
AnswerOrder answer_order(const RunRequest& request, const PreparedRun& run) {
  const bool proposes = request.has_proposer();
  if (request.answers.empty()) {
    const bool waits = run.further_devices.empty() || kind_named(run.device.kind).modelled || proposes;
    return waits ? AnswerOrder::asked : AnswerOrder::finished;
  }
  const auto order = enumerator_named<AnswerOrder>(request.answers);
  if (!order) throw usage_error(fmt::format("--answers {}: expected asked or finished", request.answers));
  if (order == AnswerOrder::finished && proposes)
    throw usage_error(fmt::format("--answers finished cannot be combined with {}: name --answers asked",
                                  !request.proposals.empty() ? "--proposals"
                                  : request.proposer.empty() ? "--llm"
                                                             : "--proposer"));
  return *order;
}

bool names_devices(const RunRequest& request) {
  return !request.devices.empty() || !request.workers.empty() || !request.hosts.empty();
}

std::vector<std::string> prefixes_of_hosts(const RunRequest& request) {
  std::vector<std::string> prefixes;
  for (const std::string& workers : request.workers) {
    if (workers == "slurm") {
      std::ranges::move(prefixes_of_allocation(), std::back_inserter(prefixes));
    } else {
      prefixes.push_back(workers);
    }
  }
  if (!request.hosts.empty()) std::ranges::move(read_hosts(request.hosts), std::back_inserter(prefixes));
  if (prefixes.empty()) prefixes.emplace_back();
  return prefixes;
}

void go_on_without(PreparedRun& run, const std::string& prefix, const std::string& why) {
  run.absent_hosts.push_back(prefix);
  add_notice(run, "the run goes on without " + why);
}

/// What the hosts of the run have that answer. Its notice names the others.
std::vector<HostDevices> ask_hosts(const std::string& list, PreparedRun& run) {
  std::vector<HostDevices> answers;
  for (const std::string& prefix : run.hosts) {
    try {
      answers.push_back(devices_behind(prefix, list));
    } catch (const Error& error) {
      if (run.hosts.size() == 1) throw;
      go_on_without(run, prefix, error.what());
    }
  }
  return answers;
}

/// The devices of a run's hosts, of those that have some.
std::vector<DeviceInfo> devices_of(const std::vector<HostDevices>& hosts, const PreparedRun& run) {
  std::vector<DeviceInfo> devices;
  std::string why_none = run.notice;
  for (const HostDevices& one : hosts) {
    devices.insert(devices.end(), one.devices.begin(), one.devices.end());
    if (one.devices.empty())
      why_none += fmt::format("{}{}: {}", why_none.empty() ? "" : "; ", one.host.prefix, one.why_none);
  }
  if (devices.empty()) {
    throw machine_error(run.hosts.size() == 1 ? why_none : "no host of this run can be used: " + why_none);
  }
  check_alike(devices);
  return devices;
}

/// The hosts beside this one. Without a device a host can still model, or compile.
void place_hosts(const std::vector<HostDevices>& hosts, PreparedRun& run) {
  for (const auto& [host, devices, why_none] : hosts) {
    if (host.prefix.empty()) continue;
    if (devices.empty()) {
      const std::string_view does = is_guided(run) ? "models" : "compiles";
      add_notice(run, fmt::format("{} has no device and only {}: {}", host.prefix, does, why_none));
    }
    run.other_hosts.push_back(host);
  }
}

/// The device of a new run, and the further ones. Returns what its hosts have.
std::vector<HostDevices> find_devices_of(const RunRequest& request, PreparedRun& run) {
  if (!names_devices(request)) {
    run.device = find_device(request.device.empty() ? "auto" : request.device, &run.notice);
    return {};
  }
  if (!request.device.empty())
    throw usage_error("--device cannot be combined with --devices, --workers and --hosts: name all in --devices");
  run.hosts = prefixes_of_hosts(request);
  std::vector<HostDevices> hosts = ask_hosts(device_list(request), run);
  const std::vector<DeviceInfo> devices = devices_of(hosts, run);
  run.device = devices.front();
  run.further_devices.assign(devices.begin() + 1, devices.end());
  return hosts;
}

/// A notice that the templates have changed since the run began. The run continues with the files it has stored.
std::string changed_templates_notice(const RunRequest& request, const Task& stored) {
  try {
    const SourceTree tree = load_templates(request.templates);
    if (load_task(tree, stored.name).hash == stored.hash) return {};
  } catch (const Error&) {
    return {};  // Without templates there is nothing that could have changed.
  }
  return fmt::format(
      "the templates of {} have changed since the run began: it continues with the old ones (a new run takes the new)",
      stored.name);
}

/// The templates, and the task that is searched.
std::pair<SourceTree, std::string> subject_of(const RunRequest& request) {
  if (request.form) return {with_shipped(request.form->files), request.form->task};
  return {load_templates(request.templates), request.task};
}

}  // namespace

std::string device_list(const RunRequest& request) {
  return request.devices.empty() ? "auto" : request.devices;
}

bool is_guided(const PreparedRun& run) {
  return run.info.screen > 1 || run.presearch > 0;
}

PreparedRun prepare_new(const RunRequest& request, const std::string& command_line) {
  PreparedRun run;
  const auto [tree, name] = subject_of(request);
  run.task = find_task(tree, name);
  run.time_limit = time_limit(request);
  RunInfo& info = run.info;
  info.strategy = checked_strategy(request.strategy);
  info.seed = request.seed.empty() ? random_seed() : parse_number("--seed", request.seed);
  info.salt = request.seed.empty() ? fresh_salt() : salt_of(info.seed);
  const std::vector<std::string> shapes = parse_shapes(run.task, request.shapes);
  const Bindings options = parse_options(run.task, request.options);
  const std::vector<HostDevices> hosts = find_devices_of(request, run);
  info.task = run.task.name;
  info.task_hash = run.task.hash;
  info.files = files_of_task(tree, run.task.name);
  info.family = request.family;
  info.device = record_of(run.device);
  for (const DeviceInfo& further : run.further_devices) info.further_devices.push_back(record_of(further));
  info.answers = answer_order(request, run);
  if (!request.in_flight.empty()) info.width = parse_number("--in-flight", request.in_flight, 1, kMostInFlight);
  info.target = make_target(run.task, run.device.kind, shapes, options, checked_objective(run.task, request.objective));
  if (!request.pareto.empty()) keep_front(request, run);
  info.objective = objective_of(info.target);
  info.until = request.until;
  info.evaluation_limit = evaluation_limit(request);
  if (!names_limit(request)) {
    info.settles = !info.keeps_front;
    run.time_limit = std::chrono::milliseconds(std::llround(kind_named(run.device.kind).run_s * 1e3));
  }
  if (run.time_limit) info.time_limit_s = std::chrono::duration<double>(*run.time_limit).count();
  info.screen = screen_of(request, info, run.device);
  run.presearch = presearch_of(request, info, run.device);
  place_hosts(hosts, run);
  info.command_line = command_line;
  info.evo_version = EVO_VERSION;
  run.templates = tree;
  if (const std::size_t known = add_known_attacks(request.database, run.task); known > 0)
    run.notice += fmt::format("{}{} regime{} that evo attack found {} validated, too", run.notice.empty() ? "" : "; ",
                              known, known == 1 ? "" : "s", known == 1 ? "is" : "are");
  if (request.form && !request.form->own.empty())
    run.warm_start.push_back({{{kTunedFamily, request.form->own}, "the kernel as it is"}});
  for (const std::string& from : request.seed_from) {
    for (std::vector<Seed>& ranking : warm_start_rankings(from, info.task, request.database))
      run.warm_start.push_back(std::move(ranking));
  }
  return run;
}

PreparedRun prepare_resumed(const RunRequest& request) {
  for (const std::string& option : request.settings)
    throw usage_error(fmt::format("{} cannot be combined with --resume: a resumed run keeps its own", option));
  const RunId id = parse_id("run", request.resume);
  const Store store = Store::open(request.database, Store::Mode::change);  // One of an older evo is brought up to date.
  const RunRow row = find_run(store, id);
  PreparedRun run;
  run.resumed = id;
  run.recalled = row.evaluated;
  run.info = row.info;
  run.info.files = files_of(store, row);
  run.task = load_task(run.info.files, row.info.task);
  if (run.task.hash != row.info.task_hash) {
    throw usage_error(
        fmt::format("run {}: its stored files of {} give another task hash ({} instead of {}): start a new run", id,
                    row.info.task, run.task.hash, row.info.task_hash));
  }
  add_known_attacks(store, run.task, row.started_at);
  run.notice = changed_templates_notice(request, run.task);
  if (names_devices(request)) {
    place_hosts(find_devices_of(request, run), run);
    if (device_key(record_of(run.device)) != device_key(row.info.device))
      throw usage_error(fmt::format("run {} was made on {}, {} is {}: it goes on on devices of that model", id,
                                    row.info.device.name, called(run.device), run.device.name));
  } else {
    run.device = same_device(row);
    run.further_devices = further_devices_again(row, run.notice);
  }
  if (!names_limit(request) && row.info.evaluation_limit && row.evaluated >= *row.info.evaluation_limit) {
    run.notice =
        fmt::format("run {} has done its {} evaluations: continue it with a larger --evals", id, row.evaluated);
  }
  if (!request.evaluations.empty()) run.info.evaluation_limit = parse_number("--evals", request.evaluations, 1);
  run.time_limit = time_limit(request);
  if (names_limit(request) && run.info.settles) {
    run.info.settles = false;
    run.info.settled_until = run.recalled;
  }
  if (!names_limit(request) && row.info.time_limit_s)
    run.time_limit = std::chrono::milliseconds(std::llround(*row.info.time_limit_s * 1e3));
  return run;
}

}  // namespace evo::cli
