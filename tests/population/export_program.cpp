#include "tests/population/export_program.h"

#include <fmt/ranges.h>

#include <regex>

#include "engine/base/text.h"

namespace evo::test {

Bindings toy_genes(const std::string& apply) {
  return {{"apply", apply},
          {"threads", std::int64_t{32}},
          {"cluster_size", std::int64_t{2}},
          {"pdl", true},
          {"swizzle", std::int64_t{64}}};
}

std::string content_of(const std::string& text) {
  std::smatch found;
  REQUIRE(std::regex_search(text, found, std::regex("\\nnamespace \\w+_([0-9a-f]{12})_\\w+ \\{\\n")));
  return found[1];
}

std::string without_content(const std::string& text) {
  return std::regex_replace(text, std::regex("_" + content_of(text)), "");
}

std::string for_fake_cuda(const std::string& text) {
  std::string calls, name_space;
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with("namespace ")) name_space = line.substr(10, line.find(' ', 10) - 10);
    const std::vector<std::string> words = split(line, ' ');
    if (words.size() != 3 || words[0] != "#define" || !words[2].starts_with(words[1])) continue;
    const std::string call =
        fmt::format("static const int known_{0} = (fake_kernel((const void*)&{1}::{0}, \"{2}\"), 0);\n", words.at(2),
                    name_space, std::regex_replace(words.at(2), std::regex("_[0-9a-f]{12}"), ""));
    calls += name_space.ends_with("_reference") ? fmt::format("#ifdef EVO_MAIN\n{}#endif\n", call) : call;
  }
  return text + "\nextern \"C\" void fake_kernel(const void*, const char*);\n" + calls;
}

std::string fake_compiler() {
  const std::string include = cuda_include_folder();
  if (include.empty()) SKIP("no CUDA headers");
  return fmt::format(
      "c++ -std=c++17 -O1 -w -Wno-psabi -x c++ -fPIC -I'{}' -include '{}/tests/population/exported/fake_cuda.h'",
      include, EVO_SOURCE_DIR);
}

ToyProgram::ToyProgram(const std::string& text, const std::string& flags) {
  write_text(folder_ / "best.cu", for_fake_cuda(without_content(text)));
  const CommandResult built =
      run_command(fmt::format("{} {} '{}' '{}/tests/population/exported/fake_cudart.cpp' -o '{}'", fake_compiler(),
                              flags, (folder_ / "best.cu").string(), EVO_SOURCE_DIR, (folder_ / "best").string()));
  INFO(built.output);
  REQUIRE(built.exit_code == 0);
}

CommandResult ToyProgram::run(const std::string& arguments) const {
  return run_command("'" + (folder_ / "best").string() + "' " + arguments);
}

std::string ToyProgram::run_successfully(const std::string& arguments) const {
  const CommandResult result = run(arguments);
  INFO(result.output);
  CHECK(result.exit_code == 0);
  return result.output;
}

void check_nvcc_compiles(const std::string& text, const std::string& flags) {
  const std::string nvcc = nvcc_path();
  if (nvcc.empty()) SKIP("no nvcc");
  const TempFolder folder;
  write_text(folder / "best.cu", text);
  const CommandResult result = run_command(fmt::format("'{}' -std=c++17 {} '{}' -o '{}'", nvcc, flags,
                                                       (folder / "best.cu").string(), (folder / "best").string()));
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK(result.output.empty());
}

std::string launch_lines(const Plan& plan, const std::string& suffix) {
  std::string text;
  for (const Launch& launch : plan.launches) {
    text += fmt::format("launch {}_{} grid {} block {} cluster {} smem {} programmatic {}\n", launch.kernel, suffix,
                        fmt::join(launch.grid, " "), fmt::join(launch.block, " "), fmt::join(launch.cluster, " "),
                        launch.dynamic_smem_bytes, launch.programmatic ? 1 : 0);
  }
  return text;
}

std::string lines_with(const std::string& text, const std::string& start) {
  std::string lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, start.size(), start) == 0) lines += text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return lines;
}

}  // namespace evo::test
