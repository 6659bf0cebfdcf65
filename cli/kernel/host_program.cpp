#include "cli/kernel/host_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/sources/shipped_places.h"
#include "cli/subject/arguments.h"
#include "cli/subject/lookup.h"
#include "cli/text/exit_code.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/streams.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"
#include "evaluator/vgpu/cost/device_models.h"
#include "evaluator/vgpu/machine/finding.h"
#include "evaluator/worker/process.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libevo_cuda.so";

/// A folder of its own that ends with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string form = (fs::temp_directory_path() / "evo-program-XXXXXX").string();
    if (::mkdtemp(form.data()) == nullptr)
      throw machine_error(fmt::format("cannot make a folder like {}: {}", form, std::strerror(errno)));
    path_ = form;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

fs::path library() {
  std::vector<fs::path> places;
  for (const char* folder : {"", "evaluator", "lib/evo"})
    for (fs::path& place : shipped_places((fs::path(folder) / kLibrary).string())) places.push_back(std::move(place));
  for (const fs::path& place : places)
    if (fs::exists(place)) return fs::canonical(place);
  throw machine_error(
      fmt::format("{} is not beside evo: evo vgpu --program needs it; build or install evo again", kLibrary));
}

void put_first(const char* variable, const std::string& value) {
  const char* before = std::getenv(variable);
  const std::string all = before == nullptr || *before == '\0' ? value : fmt::format("{}:{}", value, before);
  ::setenv(variable, all.c_str(), 1);
}

/// Where each process of the program writes what it has done.
fs::path reports_in(const fs::path& folder) {
  return folder / "reports";
}

/// In the child, before the program begins.
void set_environment(const HostProgramRequest& request, const fs::path& ours, const fs::path& folder) {
  put_first("LD_PRELOAD", ours.string());
  put_first("LD_LIBRARY_PATH", folder.string());
  ::setenv("EVO_PROGRAM_REPORT", reports_in(folder).c_str(), 1);
  ::setenv("EVO_PROGRAM_DEVICE", request.device.substr(request.device.find(':') + 1).c_str(), 1);
  if (request.sanitised) ::setenv("EVO_PROGRAM_SANITISE", "1", 1);
  if (!request.max_instructions.empty()) ::setenv("EVO_PROGRAM_MAX_INSTRUCTIONS", request.max_instructions.c_str(), 1);
}

/// Starts the program and waits for its end. Throws usage_error where it cannot be started.
ExitStatus run(const HostProgramRequest& request, const fs::path& folder) {
  const fs::path ours = library();
  for (const char* name : {"libcuda.so.1", "libcudart.so.12", "libcudart.so.13"})
    fs::create_symlink(ours, folder / name);
  fs::create_directory(reports_in(folder));
  std::vector<char*> words{const_cast<char*>(request.program.c_str())};
  for (const std::string& argument : request.arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0) throw machine_error(std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) throw machine_error(fmt::format("cannot start {}: {}", request.program, std::strerror(errno)));
  if (child == 0) {
    if (request.json) ::dup2(STDERR_FILENO, STDOUT_FILENO);
    set_environment(request, ours, folder);
    ::execvp(words.front(), words.data());
    const int why = errno;
    [[maybe_unused]] const auto written = ::write(failure[1], &why, sizeof why);
    ::_exit(127);
  }
  ::close(failure[1]);
  // Ctrl-C is the program's; what it has shown until then counts.
  const auto before = ::signal(SIGINT, SIG_IGN);
  int why = 0;
  const bool started = ::read(failure[0], &why, sizeof why) != sizeof why;
  ::close(failure[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::signal(SIGINT, before);
  if (!started) throw usage_error(fmt::format("cannot run {}: {}", request.program, std::strerror(why)));
  return WIFSIGNALED(status) ? ExitStatus{WTERMSIG(status), 128 + WTERMSIG(status)}
                             : ExitStatus{0, WEXITSTATUS(status)};
}

/// Adds what another process has done.
void add(Json& all, const Json& report) {
  for (const Json& launches : report["launches"]) {
    const auto same =
        std::ranges::find_if(all["launches"], [&](const Json& known) { return known["kernel"] == launches["kernel"]; });
    if (same == all["launches"].end()) {
      all["launches"].push_back(launches);
      continue;
    }
    for (const char* member : {"count", "warp_instructions"})
      (*same)[member] = (*same)[member].get<std::uint64_t>() + launches[member].get<std::uint64_t>();
    (*same)["modelled_us"] = (*same)["modelled_us"].get<double>() + launches["modelled_us"].get<double>();
  }
  for (const char* member : {"findings", "failures", "refused", "not_offered"})
    for (const Json& one : report[member])
      if (std::ranges::find(all[member], one) == all[member].end()) all[member].push_back(one);
}

/// What the library has written in all processes of the program; nothing: it was not asked for anything.
std::optional<Json> report_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(reports_in(folder)))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  std::optional<Json> all;
  for (const fs::path& path : files) {
    std::ifstream file(path);
    Json report = Json::parse(file, nullptr, false);
    if (report.is_discarded()) continue;
    if (all)
      add(*all, report);
    else
      all = std::move(report);
  }
  return all;
}

/// Kinds have names, and weaker ones count only if they are asked for. Returns how many were left out.
std::size_t name_findings(Json& report, bool strict) {
  std::size_t weaker = 0;
  Json named = Json::array();
  for (Json& finding : report["findings"]) {
    const auto kind = static_cast<vgpu::FindingKind>(finding["kind"].get<int>());
    if (!strict && vgpu::is_weaker(kind)) {
      ++weaker;
      continue;
    }
    finding["kind"] = std::string(vgpu::name_of(kind));
    named.push_back(finding);
  }
  report["findings"] = named;
  return weaker;
}

std::string text_of(const Json& report, const HostProgramRequest& request, const ExitStatus& ended,
                    std::size_t weaker) {
  const Terminal terminal = terminal_of(stderr);
  std::string text = fmt::format("{} on {}:\n", request.program, request.device);
  for (const Json& launches : report["launches"]) {
    const std::uint64_t count = launches["count"];
    text +=
        fmt::format("  {}: {} launch{}, modelled {} us, {} warp instructions\n",
                    one_line(launches["kernel"].get<std::string>()), grouped(count), count == 1 ? "" : "es",
                    microseconds(launches["modelled_us"]), grouped(launches["warp_instructions"].get<std::uint64_t>()));
  }
  if (report["launches"].empty()) text += "  no kernel has run\n";
  for (const Json& finding : report["findings"]) {
    const std::uint64_t count = finding["count"];
    text += fmt::format("  {}: {}{}\n", styled(terminal, Style::bad, finding["kind"].get<std::string>()),
                        one_line(finding["text"].get<std::string>()),
                        count > 1 ? fmt::format(" (and {} times more)", grouped(count - 1)) : "");
  }
  if (!report["not_offered"].empty()) {
    text += "  not offered:";
    for (const Json& function : report["not_offered"]) text += " " + function.get<std::string>();
    text += "\n";
  }
  const std::size_t found = report["findings"].size(), failed = report["failures"].size();
  if (found > 0) {
    text += fmt::format("  {} finding{}", found, found == 1 ? "" : "s");
  } else if (failed > 0) {
    text += fmt::format("  {} launch{} failed", failed, failed == 1 ? "" : "es");
  } else {
    text += "  " + styled(terminal, Style::good, "no finding");
  }
  if (weaker > 0) text += fmt::format("; --strict shows {} more, which many kernels have on purpose", weaker);
  if (ended.signal != 0 || ended.code != 0) text += fmt::format("; the program {}", describe(ended));
  return text + "\n";
}

Json document_of(const Json& report, const HostProgramRequest& request, const ExitStatus& ended, std::size_t weaker) {
  Json json = json_document(request.sanitised ? "sanitize" : "vgpu");
  json["program"] = request.program;
  json["arguments"] = request.arguments;
  json["device"] = request.device;
  json["exit_code"] = ended.code;
  for (const char* member : {"launches", "findings", "failures", "refused", "not_offered"})
    json[member] = report[member];
  json["weaker"] = weaker;
  return json;
}

}  // namespace

void add_program_option(CLI::App& command, std::string& program) {
  add_option(command, "--program", "./APP ARGS...", program,
             "Run a CUDA program as it is; what follows belongs to the program (docs/vgpu_program.md)");
}

bool take_program(HostProgramRequest& request, const KernelRequest& kernels, const CLI::App& command,
                  const std::vector<std::string>& behind) {
  if (request.program.empty()) {
    if (kernels.file.empty())
      throw usage_error(fmt::format("name a file, or a program by --program (evo {} --help)", command.get_name()));
    return false;
  }
  constexpr std::string_view kTaken[] = {"program", "device", "max-instructions", "json", "strict", "log", "log-level"};
  for (const CLI::Option* option : command.parse_order()) {
    const std::string name = option->get_lnames().empty() ? "" : option->get_lnames().front();
    if (std::ranges::find(kTaken, name) != std::end(kTaken)) continue;
    throw usage_error(fmt::format("{} cannot be combined with --program (evo {} --help)",
                                  name.empty() ? "a file" : "--" + name, command.get_name()));
  }
  request.arguments = behind;
  request.device = kernels.device;
  request.max_instructions = kernels.max_instructions;
  if (!request.max_instructions.empty()) parse_number("--max-instructions", request.max_instructions, 1);
  request.json = kernels.json;
  return true;
}

int run_host_program(const HostProgramRequest& asked) {
  HostProgramRequest request = asked;
  const DeviceInfo device = find_device(request.device);
  if (device.kind != vgpu::kKind)
    throw usage_error(fmt::format("--device {}: a program runs on a virtual GPU: vgpu:h200", request.device));
  request.device = device.id;
  const TemporaryFolder folder;
  const ExitStatus ended = run(request, folder.path());
  std::optional<Json> report = report_in(folder.path());
  if (!report) {
    throw usage_error(fmt::format(
        "{} {} and called no function of CUDA here: if it has the CUDA runtime linked statically and no symbol table, "
        "link it with -cudart shared, or do not strip it",
        request.program, describe(ended)));
  }
  const std::size_t weaker = name_findings(*report, request.strict);
  if (request.json) {
    print("{}", json_text(document_of(*report, request, ended, weaker)));
  } else {
    write_to_stderr(text_of(*report, request, ended, weaker));
  }
  // NVIDIA's own runtime asked for the driver's tables: nothing of it works here, and the program may not say so.
  const Json& missing = (*report)["not_offered"];
  if ((*report)["launches"].empty() && std::ranges::find(missing, "cuGetExportTable") != missing.end())
    return kWrongUsage;
  const bool found = !(*report)["findings"].empty() || !(*report)["failures"].empty();
  return found ? kNothingValid : ended.code;
}

}  // namespace evo::cli
