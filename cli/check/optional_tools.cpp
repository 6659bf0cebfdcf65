#include "cli/check/optional_tools.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/check/launcher_check.h"
#include "cli/text/shell_words.h"
#include "cli/text/terminal.h"
#include "evaluator/base/shared_library.h"
#include "evaluator/judge/torch_process.h"

namespace evo::cli {
namespace {

/// What a command of a shell prints on standard output; empty where it fails.
std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen((command + " 2>/dev/null").c_str(), "r"),
                                                             ::pclose);
  if (!pipe) return {};
  std::string text;
  std::array<char, 512> part{};
  for (std::size_t read = 0; (read = std::fread(part.data(), 1, part.size(), pipe.get())) > 0;)
    text.append(part.data(), read);
  return text;
}

Check check_nvcc() {
  const std::string nvcc = find_nvcc();
  if (nvcc.empty())
    return {"nvcc", false, "none in CUDA_HOME, PATH or /usr/local/cuda",
            "install the CUDA Toolkit: it compiles what evo export writes, and evo verify checks launchers with it"};
  const std::string said = output_of(shell_word(nvcc) + " --version");
  const std::size_t release = said.find("release ");
  const std::string version =
      release == std::string::npos ? "of an unknown version" : said.substr(release, said.find(',', release) - release);
  return {"nvcc", true, fmt::format("{} at {}", version, nvcc), ""};
}

Check check_torch() {
  const std::string python = python_name();
  const std::string version = output_of(
      shell_word(python) + " -c 'from importlib.metadata import version; print(version(\"torch\"), end=\"\")'");
  if (!version.empty()) return {"torch", true, fmt::format("{} of {}", one_line(version), python), ""};
  return {"torch", false, fmt::format("{} has none", python),
          "pip install torch, or name another python with EVO_PYTHON: references and rivals in torch need it"};
}

Check check_libcurl() {
  std::string why_not;
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
    if (SharedLibrary::open(name, &why_not)) return {"libcurl", true, name, ""};
  return {"libcurl", false, why_not, "install it (Debian: apt install libcurl4): --llm asks servers with it"};
}

}  // namespace

std::vector<Check> check_optional_tools() {
  return {check_nvcc(), check_torch(), check_libcurl()};
}

}  // namespace evo::cli
