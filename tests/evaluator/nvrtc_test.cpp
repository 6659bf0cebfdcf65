#include "evaluator/compile/nvrtc.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <variant>

#include "engine/base/error.h"
#include "evaluator/compile/nvrtc_compiler.h"

using namespace evo;
namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

/// A folder that is removed with the object.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "evo_nvrtc_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

  fs::path with(const std::string& relative) const {
    fs::create_directories(path_ / relative);
    return path_ / relative;
  }

 private:
  fs::path path_;
};

void write(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

NvrtcEnvironment nowhere() {
  NvrtcEnvironment environment;
  environment.use_loader = false;
  return environment;
}

// An NVRTC that returns the results that a test has set.
struct FakeNvrtc {
  nvrtcResult result = NVRTC_SUCCESS;
  std::string log, ptx, cubin;
};
FakeNvrtc fake;

template <const std::string FakeNvrtc::*text>
nvrtcResult size_of(nvrtcProgram, size_t* size) {
  *size = (fake.*text).size();
  return NVRTC_SUCCESS;
}
template <const std::string FakeNvrtc::*text>
nvrtcResult copy_of(nvrtcProgram, char* to) {
  (fake.*text).copy(to, (fake.*text).size());
  return NVRTC_SUCCESS;
}

std::unique_ptr<Compiler> fake_compiler() {
  Nvrtc nvrtc;
  nvrtc.path = "fake";
  NvrtcApi& api = nvrtc.api;
  api.error_string = [](nvrtcResult result) { return result == NVRTC_SUCCESS ? "fine" : "the fake says no"; };
  api.version = [](int* major, int* minor) { return *major = 13, *minor = 7, NVRTC_SUCCESS; };
  api.supported_arch_count = [](int* count) { return *count = 1, NVRTC_SUCCESS; };
  api.supported_archs = [](int* archs) { return archs[0] = 90, NVRTC_SUCCESS; };
  api.create_program = [](nvrtcProgram* program, const char*, const char*, int, const char* const*,
                          const char* const*) { return *program = nullptr, NVRTC_SUCCESS; };
  api.destroy_program = [](nvrtcProgram*) { return NVRTC_SUCCESS; };
  api.compile_program = [](nvrtcProgram, int, const char* const*) { return fake.result; };
  api.log_size = size_of<&FakeNvrtc::log>;
  api.log = copy_of<&FakeNvrtc::log>;
  api.ptx_size = size_of<&FakeNvrtc::ptx>;
  api.ptx = copy_of<&FakeNvrtc::ptx>;
  api.cubin_size = size_of<&FakeNvrtc::cubin>;
  api.cubin = copy_of<&FakeNvrtc::cubin>;
  return make_compiler(std::move(nvrtc));
}

constexpr const char* kOneEntry = "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n";

}  // namespace

TEST_CASE("without NVRTC the error names the searched places and how to install it") {
  const Folder toolkit;
  NvrtcEnvironment environment = nowhere();
  environment.toolkit_folders = {toolkit.path(), "/no/such/folder"};
  const fs::path searched = toolkit.with("lib64");
  CHECK_THROWS_MATCHES(load_nvrtc(environment), Error,
                       MessageMatches(ContainsSubstring(searched.string()) && ContainsSubstring("install") &&
                                      ContainsSubstring("EVO_NVRTC")));
}

TEST_CASE("a library that does not load is named with the loader's reason") {
  const Folder toolkit;
  NvrtcEnvironment environment = nowhere();
  environment.toolkit_folders = {toolkit.path()};
  write(toolkit.with("lib64") / "libnvrtc.so.13", "not a library");
  CHECK_THROWS_MATCHES(load_nvrtc(environment), Error,
                       MessageMatches(ContainsSubstring("libnvrtc.so.13") && (ContainsSubstring("invalid ELF header") ||
                                                                              ContainsSubstring("file too short"))));
}

TEST_CASE("EVO_NVRTC is used or refused, never ignored") {
  const Folder folder;
  NvrtcEnvironment environment = NvrtcEnvironment::of_process();
  environment.evo_nvrtc = folder.path().string();
  CHECK_THROWS_MATCHES(load_nvrtc(environment), Error,
                       MessageMatches(ContainsSubstring("EVO_NVRTC=" + folder.path().string())));
  environment.evo_nvrtc = (folder.path() / "libnvrtc.so.13").string();
  CHECK_THROWS_MATCHES(load_nvrtc(environment), Error, MessageMatches(ContainsSubstring("EVO_NVRTC")));
}

TEST_CASE("a shared library that is no NVRTC is refused") {
  NvrtcEnvironment environment = nowhere();
  environment.evo_nvrtc = "libm.so.6";
  CHECK_THROWS_MATCHES(load_nvrtc(environment), Error, MessageMatches(ContainsSubstring("lacks functions")));
}

TEST_CASE("toolkits and Python's nvidia packages are searched, newest first") {
  const Folder root;
  NvrtcEnvironment environment = nowhere();
  environment.toolkit_folders = {root.path() / "cuda"};
  environment.python_prefixes = {root.path() / "venv"};
  const fs::path lib64 = root.with("cuda/lib64");
  const fs::path target = root.with(std::string("cuda/") + NvrtcEnvironment::kToolkitTarget + "/lib");
  root.with("cuda/targets/another-cpu/lib");
  const fs::path older = root.with("venv/lib/python3.11/site-packages/nvidia/cu12/lib");
  const fs::path newer = root.with("venv/lib/python3.11/site-packages/nvidia/cu13/lib");
  const fs::path split = root.with("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib");
  root.with("venv/lib/python3.11/site-packages/nvidia/nccl/lib");
  CHECK(nvrtc_folders(environment) == std::vector<fs::path>{lib64, target, split, newer, older});
}

TEST_CASE("NVRTC compiles from a folder that the loader does not know") {
  Nvrtc installed;
  try {
    installed = load_nvrtc(NvrtcEnvironment::of_process());
  } catch (const Error&) {
    SKIP("no NVRTC on this machine");
  }
  const Folder folder;
  const fs::path origin = fs::canonical(installed.path).parent_path();
  for (const fs::directory_entry& entry : fs::directory_iterator(origin)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("libnvrtc")) fs::create_symlink(entry.path(), folder.path() / name);
  }
  NvrtcEnvironment environment = nowhere();
  environment.evo_nvrtc = folder.path().string();
  Nvrtc nvrtc = load_nvrtc(environment);
  CHECK(nvrtc.builtins);
  const auto result = make_compiler(std::move(nvrtc))->compile("extern \"C\" __global__ void k() {}", "sm_90", 0);
  CHECK(std::holds_alternative<Binary>(result));
}

TEST_CASE("success without a cubin or without PTX is a failure") {
  fake = {NVRTC_SUCCESS, kOneEntry, ".entry k", ""};
  const auto no_cubin = fake_compiler()->compile("", "sm_90a", 0);
  REQUIRE(std::holds_alternative<Failure>(no_cubin));
  CHECK_THAT(std::get<Failure>(no_cubin).reason, ContainsSubstring("empty cubin"));
  fake = {NVRTC_SUCCESS, kOneEntry, "", "cubin"};
  CHECK(std::holds_alternative<Failure>(fake_compiler()->compile("", "sm_90a", 0)));
  fake = {NVRTC_SUCCESS, kOneEntry, ".entry k", "cubin"};
  CHECK(std::holds_alternative<Binary>(fake_compiler()->compile("", "sm_90a", 0)));
}

TEST_CASE("an NVRTC error of the machine is thrown, a compilation error is returned") {
  fake = {NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, "", "", ""};
  CHECK_THROWS_MATCHES(fake_compiler()->compile("", "sm_90a", 0), Error,
                       MessageMatches(ContainsSubstring("the fake says no")));
  fake.result = NVRTC_ERROR_OUT_OF_MEMORY;
  CHECK_THROWS_AS(fake_compiler()->compile("", "sm_90a", 0), Error);
  fake.result = NVRTC_ERROR_INTERNAL_ERROR;
  CHECK(std::holds_alternative<Failure>(fake_compiler()->compile("", "sm_90a", 0)));
  fake = {NVRTC_ERROR_COMPILATION, "kernel.cu(1): error: no\n", "", ""};
  const auto failed = fake_compiler()->compile("", "sm_90a", 0);
  REQUIRE(std::holds_alternative<Failure>(failed));
  CHECK(std::get<Failure>(failed).reason == "kernel.cu(1): error: no");
}

TEST_CASE("the options name the exact architecture and carry a register cap only when there is one") {
  const std::vector<std::string> options = compile_options("sm_90a", 0);
  CHECK(options.front() == "--gpu-architecture=sm_90a");
  CHECK(compile_options("sm_90a", 168).back() == "--maxrregcount=168");
  CHECK(compile_options("sm_90a", 168).size() == options.size() + 1);
}
