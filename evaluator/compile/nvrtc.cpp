#include "evaluator/compile/nvrtc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "engine/base/error.h"

namespace evo {
namespace fs = std::filesystem;
namespace {

// Newest first. NVRTC 11.x has no sm_90, and its so name carries the minor version.
constexpr std::array kLibraryNames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};

constexpr std::string_view kHowToInstall =
    "install the CUDA Toolkit, or `pip install nvidia-cuda-nvrtc`, or set EVO_NVRTC to libnvrtc.so.13 or its "
    "folder";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Entries of a folder, sorted downwards so that newer versions come first; empty when it cannot be read.
std::vector<fs::path> entries_of(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> entries;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with(prefix)) entries.push_back(entry.path());
  }
  std::sort(entries.rbegin(), entries.rend());
  return entries;
}

void add_if_there(std::vector<fs::path>& folders, const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return;
  if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
}

/// The wheels nvidia-cuda-nvrtc-cu12 (nvidia/cuda_nvrtc/lib) and nvidia-cuda-nvrtc (nvidia/cu13/lib).
void add_python_folders(std::vector<fs::path>& folders, const fs::path& prefix) {
  for (const fs::path& python : entries_of(prefix / "lib", "python3")) {
    for (const char* packages : {"site-packages", "dist-packages"}) {
      for (const fs::path& package : entries_of(python / packages / "nvidia", "cu"))
        add_if_there(folders, package / "lib");
    }
  }
}

/// The prefix of the python3 that a shell would start: PREFIX/bin/python3.
fs::path python_on_path() {
  const std::string path = variable("PATH");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    std::error_code missing;
    const fs::path python = fs::canonical(fs::path(path.substr(begin, end - begin)) / "python3", missing);
    if (!missing) return python.parent_path().parent_path();
    begin = end + 1;
  }
  return {};
}

bool bind_all(const SharedLibrary& library, NvrtcApi& api) {
  return library.bind(api.error_string, "nvrtcGetErrorString") && library.bind(api.version, "nvrtcVersion") &&
         library.bind(api.supported_arch_count, "nvrtcGetNumSupportedArchs") &&
         library.bind(api.supported_archs, "nvrtcGetSupportedArchs") &&
         library.bind(api.create_program, "nvrtcCreateProgram") &&
         library.bind(api.destroy_program, "nvrtcDestroyProgram") &&
         library.bind(api.compile_program, "nvrtcCompileProgram") &&
         library.bind(api.log_size, "nvrtcGetProgramLogSize") && library.bind(api.log, "nvrtcGetProgramLog") &&
         library.bind(api.ptx_size, "nvrtcGetPTXSize") && library.bind(api.ptx, "nvrtcGetPTX") &&
         library.bind(api.cubin_size, "nvrtcGetCUBINSize") && library.bind(api.cubin, "nvrtcGetCUBIN") &&
         library.bind(api.add_name_expression, "nvrtcAddNameExpression") &&
         library.bind(api.lowered_name, "nvrtcGetLoweredName");
}

/// NVRTC opens its builtins by bare name at the first compilation, which fails outside the loader's path
/// unless the library is already in the process.
SharedLibrary open_builtins(const fs::path& folder) {
  for (const fs::path& file : entries_of(folder, "libnvrtc-builtins.so")) {
    if (SharedLibrary library = SharedLibrary::open(file.string(), nullptr, SharedLibrary::Symbols::global))
      return library;
  }
  return {};
}

/// Opens one file (a bare name goes through the loader's path); notes why it could not.
bool open_file(const std::string& file, Nvrtc& nvrtc, std::vector<std::string>& tried) {
  std::string why_not;
  const fs::path folder = fs::path(file).parent_path();
  Nvrtc opened;
  if (!folder.empty()) opened.builtins = open_builtins(folder);
  opened.library = SharedLibrary::open(file, &why_not);
  if (opened.library && !bind_all(opened.library, opened.api))
    why_not = file + ": lacks functions of NVRTC 11.2 or newer";
  if (!why_not.empty()) {
    tried.push_back(why_not);
    return false;
  }
  opened.path = opened.library.path_of("nvrtcVersion");
  nvrtc = std::move(opened);
  return true;
}

bool open_folder(const fs::path& folder, Nvrtc& nvrtc, std::vector<std::string>& tried) {
  std::error_code ignored;
  for (const char* name : kLibraryNames) {
    const fs::path file = folder / name;
    if (fs::exists(file, ignored) && open_file(file.string(), nvrtc, tried)) return true;
  }
  return false;
}

Nvrtc load_chosen(const std::string& chosen) {
  Nvrtc nvrtc;
  std::vector<std::string> tried;
  std::error_code ignored;
  const bool is_folder = fs::is_directory(chosen, ignored);
  if (is_folder ? open_folder(chosen, nvrtc, tried) : open_file(chosen, nvrtc, tried)) return nvrtc;
  if (tried.empty()) tried.emplace_back("no libnvrtc.so.13 or libnvrtc.so.12 in that folder");
  throw machine_error(fmt::format("NVRTC: EVO_NVRTC={}: {}; set it to libnvrtc.so.13 or its folder, or unset it",
                                  chosen, fmt::join(tried, "; ")));
}

}  // namespace

NvrtcEnvironment NvrtcEnvironment::of_process() {
  NvrtcEnvironment environment;
  environment.evo_nvrtc = variable("EVO_NVRTC");
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string folder = variable(name); !folder.empty()) environment.toolkit_folders.emplace_back(folder);
  }
  environment.toolkit_folders.emplace_back("/usr/local/cuda");
  for (const fs::path& folder : entries_of("/usr/local", "cuda-")) environment.toolkit_folders.push_back(folder);
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string prefix = variable(name); !prefix.empty()) environment.python_prefixes.emplace_back(prefix);
  }
  if (const fs::path prefix = python_on_path(); !prefix.empty()) environment.python_prefixes.push_back(prefix);
  if (const std::string home = variable("HOME"); !home.empty())
    environment.python_prefixes.push_back(fs::path(home) / ".local");
  environment.python_prefixes.emplace_back("/usr/local");
  environment.python_prefixes.emplace_back("/usr");
  std::error_code ignored;
  environment.program_folder = fs::canonical("/proc/self/exe", ignored).parent_path();
  return environment;
}

std::vector<fs::path> nvrtc_folders(const NvrtcEnvironment& environment) {
  std::vector<fs::path> folders;
  if (!environment.program_folder.empty()) {
    add_if_there(folders, environment.program_folder);
    add_if_there(folders, environment.program_folder.parent_path() / "lib");
  }
  for (const fs::path& toolkit : environment.toolkit_folders) {
    add_if_there(folders, toolkit / "lib64");
    add_if_there(folders, toolkit / "lib");
    add_if_there(folders, toolkit / NvrtcEnvironment::kToolkitTarget / "lib");
  }
  for (const fs::path& prefix : environment.python_prefixes) add_python_folders(folders, prefix);
  return folders;
}

Nvrtc load_nvrtc(const NvrtcEnvironment& environment) {
  if (!environment.evo_nvrtc.empty()) return load_chosen(environment.evo_nvrtc);
  Nvrtc nvrtc;
  std::vector<std::string> tried;
  if (environment.use_loader) {
    for (const char* name : kLibraryNames) {
      if (open_file(name, nvrtc, tried)) return nvrtc;
    }
    tried.clear();  // "the loader's path" below stands for all of them.
  }
  const std::vector<fs::path> folders = nvrtc_folders(environment);
  for (const fs::path& folder : folders) {
    if (open_folder(folder, nvrtc, tried)) return nvrtc;
  }
  std::vector<std::string> looked{"the loader's path"};
  for (const fs::path& folder : folders) looked.push_back(folder.string());
  throw machine_error(fmt::format("NVRTC not found: looked in {}{}{}; {}", fmt::join(looked, ", "),
                                  tried.empty() ? "" : ": ", fmt::join(tried, "; "), kHowToInstall));
}

}  // namespace evo
