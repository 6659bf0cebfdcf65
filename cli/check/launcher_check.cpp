#include "cli/check/launcher_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "cli/check/restricted_program.h"
#include "cli/subject/restore.h"
#include "cli/text/files.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/task/scope.h"
#include "population/export/export.h"
#include "population/export/provenance.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;
using State = LauncherCheck::State;

constexpr std::chrono::seconds kBuildDeadline{600};
constexpr std::chrono::seconds kRunDeadline{120};
/// Besides the timed shapes: those of the fewest elements.
constexpr std::size_t kMoreShapes = 6;

/// A folder that goes away with the object.
class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "evo-launcher-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw machine_error(fmt::format("no folder can be made in {}", fs::temp_directory_path().string()));
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path operator/(const char* name) const { return fs::path(path_) / name; }

 private:
  std::string path_;
};

ExportRequest request_of(const Claim& claim, const DeviceInfo& device) {
  ExportRequest request;
  request.files = claim.tree;
  request.task = claim.task;
  request.family = claim.family;
  request.programs = claim.programs;
  request.references = references_of(claim.tree, claim.task, claim.target, claim.programs);
  request.provenance.task = claim.task.name;
  request.provenance.genome = claim.genome;
  request.provenance.target = claim.target;
  request.provenance.device = claim.device;
  request.provenance.device.arch = device.arch;
  return request;
}

std::string sizes_of(const Shape& shape, const Task& task) {
  std::vector<std::string> sizes;
  for (const std::string& name : task.shape_parameters)
    sizes.push_back(fmt::format("{}={}", name, expr::to_string(shape.parameters.at(name))));
  return fmt::format("{}", fmt::join(sizes, ","));
}

double elements_of(const Shape& shape, const Task& task, const Bindings& options) {
  const Bindings known = joined(options, shape.parameters);
  double elements = 0;
  for (const auto* tensors : {&task.inputs, &task.outputs}) {
    for (const Tensor& tensor : *tensors)
      if (is_present(tensor, known)) elements += static_cast<double>(element_count(tensor, known));
  }
  return elements;
}

/// The timed shapes of all claims, and small ones that are validated, each once.
std::vector<std::string> shapes_of(const std::vector<Claim>& claims) {
  std::vector<std::string> shapes;
  const auto add = [&](const Shape& shape, const Task& task) {
    const std::string sizes = sizes_of(shape, task);
    if (std::ranges::find(shapes, sizes) == shapes.end()) shapes.push_back(sizes);
  };
  for (const Claim& claim : claims) {
    for (const Shape& shape : claim.target.timed) add(shape, claim.task);
  }
  const std::size_t timed = shapes.size();
  for (const Claim& claim : claims) {
    std::vector<Shape> validated = claim.target.validated;
    std::ranges::stable_sort(validated, {},
                             [&](const Shape& shape) { return elements_of(shape, claim.task, claim.target.options); });
    for (const Shape& shape : validated)
      if (shapes.size() < timed + kMoreShapes) add(shape, claim.task);
  }
  return shapes;
}

/// The line of an output that says what is wrong: the first with one of these words, else the last.
std::string telling_line(const std::string& output, std::initializer_list<std::string_view> words) {
  std::string last = "it says nothing";
  for (const std::string& line : split(output, '\n')) {
    const std::string_view plain = trim(line);
    if (plain.empty()) continue;
    const bool tells =
        std::ranges::any_of(words, [&](std::string_view word) { return plain.find(word) != std::string_view::npos; });
    last = plain;
    if (tells) break;
  }
  return last;
}

LauncherCheck not_checked(std::string why) {
  return {State::not_checked, std::move(why), {}};
}
LauncherCheck wrong(std::string why) {
  return {State::wrong, std::move(why), {}};
}

/// What nvcc is asked to do: the file by the command that it names, and the program beside it.
std::vector<std::string> build_command(const std::string& nvcc, const std::vector<ExportRequest>& requests,
                                       const Folder& folder) {
  std::vector<std::string> command = split(nvcc_command(requests), ' ');
  command.front() = nvcc;
  for (const std::string& part : {std::string("-O2"), (folder / "kernel.cu").string(), (folder / "check.cu").string(),
                                  std::string("-o"), (folder / "check").string()})
    command.push_back(part);
  return command;
}

/// The launcher at one shape; nothing when it is right.
std::optional<LauncherCheck> wrong_at(const std::string& shape, const Folder& folder, const DeviceInfo& device) {
  const ProgramResult ran =
      run_restricted({"env", "CUDA_VISIBLE_DEVICES=" + device.uuid, (folder / "check").string(), shape, "check"},
                     folder / "output", kRunDeadline);
  if (!ran.ended) return wrong(fmt::format("at {} it does not end within {} s", shape, kRunDeadline.count()));
  if (ran.ended->signal == 0 && ran.ended->code == 0) return std::nullopt;
  const std::string said = telling_line(ran.output, {"WRONG", "no GPU"});
  if (said.starts_with("no GPU")) return not_checked(said);
  const std::string how = ran.ended->signal == 0 ? "" : describe(*ran.ended) + ": ";
  return wrong(fmt::format("at {}: {}{}", shape, how, said));
}

}  // namespace

std::string find_nvcc() {
  std::vector<fs::path> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(name); home != nullptr && *home != 0) folders.push_back(fs::path(home) / "bin");
  }
  if (const char* path = std::getenv("PATH")) {
    for (const std::string& folder : split(path, ':')) folders.emplace_back(folder.empty() ? "." : folder);
  }
  folders.emplace_back("/usr/local/cuda/bin");
  std::error_code ignored;
  const auto has_nvcc = [&](const fs::path& folder) { return fs::is_regular_file(folder / "nvcc", ignored); };
  const auto found = std::ranges::find_if(folders, has_nvcc);
  return found == folders.end() ? "" : (*found / "nvcc").string();
}

LauncherCheck check_launcher(const std::string& path, const std::vector<Claim>& claims, const DeviceInfo& device) {
  if (kind_named(device.kind).modelled || device.uuid.empty())
    return not_checked(fmt::format("{} is no GPU", device.id));
  if (has_torch_reference(claims.front().task)) return not_checked("the task's reference is a program of torch");
  const std::string nvcc = find_nvcc();
  if (nvcc.empty()) return not_checked("there is no nvcc in CUDA_HOME, PATH or /usr/local/cuda");

  const Folder folder;
  std::vector<ExportRequest> requests;
  for (const Claim& claim : claims) requests.push_back(request_of(claim, device));
  fs::copy_file(path, folder / "kernel.cu");
  write_file(folder / "check.cu", launcher_check(requests, claims.front().launcher));
  const ProgramResult built = run_restricted(build_command(nvcc, requests, folder), folder / "output", kBuildDeadline);
  if (!built.ended) return not_checked(fmt::format("nvcc does not end within {} s", kBuildDeadline.count()));
  if (built.ended->signal != 0 || built.ended->code != 0) {
    const std::string said = telling_line(built.output, {"error", "undefined reference", "fatal"});
    return said.starts_with("nvcc fatal") ? not_checked(said) : wrong(fmt::format("nvcc does not build it: {}", said));
  }

  LauncherCheck check{State::right, {}, {}};
  for (const std::string& shape : shapes_of(claims)) {
    if (const std::optional<LauncherCheck> found = wrong_at(shape, folder, device)) return *found;
    check.shapes.push_back(shape);
  }
  return check;
}

}  // namespace evo::cli
