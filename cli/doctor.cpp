#include "cli/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/atomic_file.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/format.h"
#include "cli/json_documents.h"
#include "cli/listings.h"
#include "cli/lookup.h"
#include "cli/table.h"
#include "cli/templates.h"
#include "engine/error.h"
#include "evaluator/compiler.h"
#include "evaluator/cuda/cuda_device.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;
using State = Check::State;

struct Request {
  std::string database = kDefaultDatabase;
  std::string templates;
  bool json = false;
};

std::string limits_text(const DeviceInfo& device) {
  const DeviceLimits& limits = device.limits;
  return fmt::format("{} SMs, {} KiB shared memory a block, {} registers an SM, {:.0f} GiB, L2 {:.0f} MiB", limits.sm_count,
                     limits.smem_per_block_bytes / 1024, limits.registers_per_sm,
                     static_cast<double>(device.memory_bytes) / (1 << 30), static_cast<double>(device.l2_bytes) / (1 << 20));
}

std::vector<Check> check_gpus(const std::vector<DeviceInfo>& gpus, const std::string& why_none) {
  if (gpus.empty()) {
    return {{"GPU", State::limited, fmt::format("no CUDA GPU: {}", why_none),
             "for measured latencies, install an NVIDIA GPU and its driver; without, the virtual GPU is used"}};
  }
  std::vector<Check> checks = {{"driver", State::works, gpus.front().driver, ""}};
  for (const DeviceInfo& gpu : gpus) {
    checks.push_back({gpu.id, State::works, fmt::format("{} ({}), {}", gpu.name, gpu.arch, limits_text(gpu)), ""});
  }
  return checks;
}

/// A kernel that takes nothing but a working compiler.
constexpr const char* kTestKernel = "extern \"C\" __global__ void evo_doctor(int* out) { *out = threadIdx.x; }\n";

Check check_arch(Compiler& compiler, const std::string& arch) {
  const auto result = compiler.compile(kTestKernel, arch, 0);
  if (const Failure* failure = std::get_if<Failure>(&result)) {
    return {"NVRTC " + arch, State::limited, failure->reason,
            fmt::format("install a CUDA Toolkit whose NVRTC knows {}", arch)};
  }
  const Binary& binary = std::get<Binary>(result);
  if (binary.cubin.empty() || binary.ptx.empty()) {
    return {"NVRTC " + arch, State::limited, "it compiles, but gives no code", "install CUDA Toolkit 12.8 or newer"};
  }
  return {"NVRTC " + arch, State::works,
          fmt::format("a test kernel compiles in {:.0f} ms", binary.build.compile_ms), ""};
}

/// What NVRTC is asked to compile for: the GPUs here, or the virtual GPU's default model.
std::vector<std::string> wanted_archs(const std::vector<DeviceInfo>& gpus) {
  std::vector<std::string> archs;
  for (const DeviceInfo& gpu : gpus) archs.push_back(gpu.arch);
  archs.push_back(vgpu::model_info(vgpu::model_names().front()).arch);
  std::sort(archs.begin(), archs.end());
  archs.erase(std::unique(archs.begin(), archs.end()), archs.end());
  return archs;
}

std::vector<Check> check_nvrtc(const std::vector<DeviceInfo>& gpus) {
  try {
    const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler();
    std::vector<Check> checks = {{"NVRTC", State::works, fmt::format("{} in {}", compiler->version(), compiler->path()), ""}};
    bool any = false;
    for (const std::string& arch : wanted_archs(gpus)) {
      checks.push_back(check_arch(*compiler, arch));
      any = any || checks.back().state == State::works;
    }
    if (!any) checks.front().state = State::missing;
    return checks;
  } catch (const Error& error) {
    return {{"NVRTC", State::missing, error.what(), "install the CUDA Toolkit 12.8 or newer, or set EVO_NVRTC to libnvrtc.so"}};
  }
}

Check check_virtual_gpu() {
  return {"virtual GPU", State::works, fmt::format("models: {}", fmt::join(vgpu::model_names(), ", ")), ""};
}

std::vector<Check> check_templates(const std::string& wish) {
  try {
    const fs::path folder = find_templates(wish);
    std::vector<Check> checks;
    std::vector<std::string> good;
    for (const TaskListing& listing : list_tasks(read_templates(folder))) {
      if (listing.problem.empty()) {
        good.push_back(listing.name);
      } else {
        checks.push_back({"task " + listing.name, State::limited, listing.problem, "correct the file that is named"});
      }
    }
    const State state = good.empty() ? State::missing : State::works;
    checks.insert(checks.begin(), {"templates", state, fmt::format("{} in {}", fmt::join(good, ", "), folder.string()),
                                   good.empty() ? "name another folder with --templates" : ""});
    return checks;
  } catch (const Error& error) {
    return {{"templates", State::missing, error.what(), "name their folder with --templates or EVO_TEMPLATES"}};
  }
}

/// Whether a new file can be made in a folder, found out by making one.
std::string why_not_writable(const fs::path& folder) {
  std::error_code error;
  fs::path existing = folder.empty() ? fs::path(".") : folder;
  // A folder that is not there yet will be made in the nearest one that is.
  while (!fs::exists(existing, error) && existing.has_parent_path()) existing = existing.parent_path();
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
  std::error_code error;
  const std::string unwritable = why_not_writable(fs::path(path).parent_path());
  const std::string fix = "choose another place with --db";
  if (!unwritable.empty()) return {"database", State::limited, unwritable, fix};
  if (!fs::exists(path, error)) return {"database", State::works, fmt::format("{}: none yet, a run makes it", path), ""};
  try {
    const Store store = Store::open(path, Store::Mode::read);
    const std::vector<std::string> problems = store.check();
    if (!problems.empty()) {
      return {"database", State::limited, fmt::format("{}: {}", path, fmt::join(problems, "; ")),
              "move it away; a run makes a new one"};
    }
    return {"database", State::works,
            fmt::format("{}: sound, {} runs, {} elites", path, store.runs().size(), store.elites().size()), ""};
  } catch (const Error& problem) {
    return {"database", State::limited, problem.what(), fix};
  }
}

std::vector<Check> examine(const Request& request) {
  std::string why_none;
  const std::vector<DeviceInfo> gpus = cuda::list_devices(&why_none);
  std::vector<Check> checks = check_gpus(gpus, why_none);
  const auto append = [&](std::vector<Check> more) { checks.insert(checks.end(), more.begin(), more.end()); };
  append({check_virtual_gpu()});
  append(check_nvrtc(gpus));
  append(check_templates(request.templates));
  append({check_database(request.database)});
  return checks;
}

std::string checks_text(const std::vector<Check>& checks, const Terminal& terminal) {
  Table table({{""}, {""}, {""}});
  for (const Check& check : checks) {
    const Style style = check.state == State::missing ? Style::bad
                        : check.state == State::limited ? Style::warning : Style::plain;
    table.add({name_of(check.state), check.subject, check.finding}, style);
    if (!check.fix.empty()) table.add({"", "", "-> " + check.fix}, style);
  }
  return table.text(terminal);
}

std::string conclusion(const std::vector<Check>& checks) {
  std::string missing;
  for (const Check& check : checks) {
    if (check.state == State::missing) missing += (missing.empty() ? "" : ", ") + check.subject;
  }
  if (!missing.empty()) return fmt::format("nothing can run before this is mended: {}\n", missing);
  const bool gpu = std::any_of(checks.begin(), checks.end(), [](const Check& check) { return check.subject == "driver"; });
  return gpu ? "evo can search and measure on this machine\n"
             : "evo can search on this machine; latencies are modelled\n";
}

int doctor(const Request& request) {
  const std::vector<Check> checks = examine(request);
  fmt::print("{}", request.json ? doctor_json(checks) : checks_text(checks, terminal_of(stdout)) + "\n" + conclusion(checks));
  const auto missing = [](const Check& check) { return check.state == State::missing; };
  return std::any_of(checks.begin(), checks.end(), missing) ? kMachine : kDone;
}

}  // namespace

std::string name_of(Check::State state) {
  switch (state) {
    case State::works: return "works";
    case State::limited: return "limited";
    case State::missing: return "missing";
  }
  return "missing";
}

void add_doctor(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("doctor", "Say what works on this machine, what is missing and how to fix it");
  command->add_option("--db", request->database, kDatabaseHelp)->capture_default_str();
  command->add_option("--templates", request->templates, kTemplatesHelp);
  command->add_flag("--json", request->json, kJsonHelp);
  command->callback([request, &action] { action = [request] { return doctor(*request); }; });
}

}  // namespace evo::cli
