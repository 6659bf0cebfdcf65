// Two exported files of one task live together: in one program, and as two libraries in one process.
#include <fmt/ranges.h>

#include <sstream>

#include "engine/base/text.h"
#include "tests/population/export_program.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;

namespace {

/// An exported toy; both of its kernels need 64 KB of shared memory and more.
std::string exported_toy(std::int64_t threads, const std::string& launcher) {
  Bindings genes = toy_genes("right");
  genes["threads"] = threads;
  return export_cuda(export_request(toy_tree(), "toy", {"narrow", "wide"}, genes, 90), launcher);
}

/// Calls launchers that have the toy's arguments, each again after a reset, and compares what they compute.
constexpr std::string_view kCalls = R"cuda(
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>
using Launcher = cudaError_t(const void*, const float*, float*, int, int, void*, cudaStream_t);

static bool right(Launcher* launcher) {
  const int rows = 7, columns = 64;
  alignas(256) static thread_local signed char x[rows * columns];
  alignas(256) static thread_local float scale[rows], y[rows * columns], workspace[rows * columns];
  float sums[rows] = {};
  for (int i = 0; i < rows * columns; ++i) x[i] = static_cast<signed char>(i * 37 % 251 - 125);
  for (int row = 0; row < rows; ++row) scale[row] = 0.25F * (row + 1);
  for (int i = 0; i < rows * columns; ++i) sums[i / columns] += x[i] * scale[i / columns];
  std::memset(y, 0xff, sizeof y);
  const cudaError_t error = launcher(x, scale, y, rows, columns, workspace, nullptr);
  if (error != cudaSuccess) return std::printf("error %d\n", error), false;
  for (int i = 0; i < rows * columns; ++i) {
    const float want = x[i] * scale[i / columns] + sums[i / columns];
    if (!(y[i] == want)) return std::printf("y[%d] is %f, not %f\n", i, y[i], want), false;
  }
  return true;
}

static int check(const std::vector<Launcher*>& launchers) {
  bool all = true;
  for (int round = 0; round < 2; ++round) {
    for (Launcher* launcher : launchers) all = right(launcher) && all;
    std::thread([&] { for (Launcher* launcher : launchers) all = right(launcher) && all; }).join();
    cudaDeviceReset();
  }
  return all ? 0 : 1;
}
)cuda";

constexpr std::string_view kMainOfProgram = R"cuda(
Launcher evo_toy, other_toy;
int main() { return check({evo_toy, other_toy}); }
)cuda";

/// The symbol is the launcher's mangled name.
constexpr std::string_view kMainOfLibraries = R"cuda(
#include <dlfcn.h>
int main(int, char** argv) {
  std::vector<Launcher*> launchers;
  for (int i = 1; i <= 2; ++i) {
    void* const library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::printf("%s\n", dlerror()), 2;
    launchers.push_back(reinterpret_cast<Launcher*>(dlsym(library, "_Z7evo_toyPKvPKfPfiiPvP11CUstream_st")));
    if (launchers.back() == nullptr) return std::printf("%s\n", dlerror()), 2;
  }
  return check(launchers);
}
)cuda";

void require_success(const std::string& command) {
  const CommandResult result = run_command(command);
  INFO(command << "\n" << result.output);
  REQUIRE(result.exit_code == 0);
}

/// The defined symbols that a library or an object shows, demangled and sorted; not those of CUDA's and C++'s own
/// headers.
std::vector<std::string> shown_symbols(const std::string& nm, const std::filesystem::path& file) {
  const CommandResult listed = run_command(fmt::format("nm -C --defined-only {} '{}'", nm, file.string()));
  REQUIRE(listed.exit_code == 0);
  std::vector<std::string> symbols;
  for (const std::string& line : split(listed.output, '\n')) {
    std::istringstream words(line);
    std::string address, kind, name;
    words >> address >> kind >> std::ws;
    std::getline(words, name);
    if (name.empty() || name.starts_with("std::") || name.starts_with("dim3::")) continue;
    symbols.push_back(kind + " " + name.substr(0, name.find('(')));
  }
  std::ranges::sort(symbols);
  return symbols;
}

}  // namespace

TEST_CASE("two exported files of one task are right in one program") {
  const TempFolder folder;
  write_text(folder / "one.cu", for_fake_cuda(exported_toy(32, "")));
  write_text(folder / "other.cu", for_fake_cuda(exported_toy(64, "other_toy")));
  write_text(folder / "main.cu", fmt::format("{}{}", kCalls, kMainOfProgram));
  require_success(
      fmt::format("cd '{}' && {} one.cu other.cu main.cu '{}/tests/population/exported/fake_cudart.cpp' -o best",
                  folder.path().string(), fake_compiler(), EVO_SOURCE_DIR));
  require_success((folder / "best").string() + " 2> /dev/null");
}

TEST_CASE("two exported files of one task and launcher are right as two libraries in one process") {
  const TempFolder folder;
  write_text(folder / "one.cu", for_fake_cuda(exported_toy(32, "")));
  write_text(folder / "other.cu", for_fake_cuda(exported_toy(64, "")));
  write_text(folder / "main.cu", fmt::format("{}{}", kCalls, kMainOfLibraries));
  const std::string runtime = fmt::format("'{}/tests/population/exported/fake_cudart.cpp'", EVO_SOURCE_DIR);
  require_success(
      fmt::format("cd '{0}' && cc={1} && $cc -shared {2} -o libfake.so && "
                  "$cc -shared one.cu -o one.so && $cc -shared other.cu -o other.so && "
                  "$cc main.cu -o best -x none libfake.so -Wl,-rpath,'{0}' -Wl,--no-as-needed -ldl",
                  folder.path().string(), "'" + fake_compiler() + "'", runtime));
  require_success(fmt::format("cd '{}' && ./best ./one.so ./other.so 2> /dev/null", folder.path().string()));
  CHECK(shown_symbols("-D", folder / "one.so") == std::vector<std::string>{"T evo_toy", "T evo_toy_workspace_bytes"});
}

TEST_CASE("nvcc links two exported files of one task into one program, whole and from relocatable device code",
          "[long]") {
  const std::string nvcc = nvcc_path();
  if (nvcc.empty()) SKIP("no nvcc");
  const TempFolder folder;
  write_text(folder / "one.cu", exported_toy(32, ""));
  write_text(folder / "other.cu", exported_toy(64, "other_toy"));
  write_text(folder / "main.cu", fmt::format("{}{}", kCalls, kMainOfProgram));
  for (const char* mode : {"false", "true"}) {
    require_success(fmt::format("cd '{}' && '{}' -std=c++17 -arch=sm_90a -rdc={} one.cu other.cu main.cu -o best",
                                folder.path().string(), nvcc, mode));
  }
}

TEST_CASE("a library of an exported file shows its launcher and its workspace function alone", "[long]") {
  const std::string nvcc = nvcc_path();
  if (nvcc.empty()) SKIP("no nvcc");
  const TempFolder folder;
  write_text(folder / "one.cu", exported_toy(32, "my_toy"));
  // As compilers before CUDA 13, which do not hide kernels by themselves.
  const std::string flags = "-std=c++17 -arch=sm_90a --device-entity-has-hidden-visibility=false -Xcompiler -fPIC";
  require_success(
      fmt::format("cd '{0}' && '{1}' {2} -c one.cu -o one.o && '{1}' -shared -cudart shared one.o -o one.so",
                  folder.path().string(), nvcc, flags));
  CHECK(shown_symbols("-D", folder / "one.so") == std::vector<std::string>{"T my_toy", "T my_toy_workspace_bytes"});
  for (const std::string& symbol : shown_symbols("", folder / "one.o")) CHECK_FALSE(symbol.starts_with("u "));
}
