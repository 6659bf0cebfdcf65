#include "tests/vgpu/conformance/conformance_table.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

#include "evaluator/vgpu/isa/instruction_set.h"
#include "tests/vgpu/conformance/ptx_forms.h"

namespace evo::vgpu {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("the list of instructions has every opcode of the ISA, and every one of the virtual GPU") {
  const Isa all = isa();
  std::set<std::string> listed;
  for (const IsaInstruction& one : all.instructions) {
    INFO(one.name);
    CHECK(one.example.find(one.opcode()) != std::string::npos);
    listed.insert(one.opcode());
  }
  CHECK(listed == all.opcodes);
  std::istringstream words(instruction_table().substr(instruction_table().find("|---|")));
  const std::regex opcode("[a-z][a-z0-9]*");
  for (std::string line; std::getline(words, line);) {
    const std::size_t cell = line.find("| ", 2);
    if (cell == std::string::npos) continue;
    std::istringstream names(line.substr(cell + 2));
    for (std::string name; names >> name;) {
      INFO(name);
      if (std::regex_match(name, opcode)) CHECK(all.opcodes.contains(name));
    }
  }
}

// EVO_WRITE_PAGES=1 writes the table into the page.
TEST_CASE("docs/vgpu_conformance.md has the table as it is now") {
  const fs::path page = EVO_SOURCE_DIR "/docs/vgpu_conformance.md";
  const std::string table = conformance_table(isa()), begin = "<!-- table -->\n";
  std::string text = text_of(page);
  const std::size_t from = text.find(begin);
  REQUIRE(from != std::string::npos);
  if (std::getenv("EVO_WRITE_PAGES") != nullptr) {
    text = text.substr(0, from + begin.size()) + table;
    std::ofstream(page) << text;
  }
  INFO("EVO_WRITE_PAGES=1 build/release/tests/evo_tests_vgpu 'docs/vgpu_conformance.md*' writes it");
  const bool same = text.substr(from + begin.size()) == table;
  CHECK(same);
}

const std::vector<std::string> kTargets{"sm_75",  "sm_80",   "sm_86",  "sm_87",   "sm_88",  "sm_89",
                                        "sm_90",  "sm_90a",  "sm_100", "sm_100a", "sm_103", "sm_103a",
                                        "sm_110", "sm_110a", "sm_120", "sm_120a", "sm_121", "sm_121a"};

bool is_target(const IsaInstruction& one, const std::string& target) {
  const auto at = [](const std::string& name) { return std::ranges::find(kTargets, name) - kTargets.begin(); };
  if (one.and_newer) return at(target) >= at(one.targets.front());
  return std::ranges::count(one.targets, target) > 0;
}

TEST_CASE("ptxas has each listed instruction for its targets, and for no others") {
  const fs::path ptxas = "/usr/local/cuda/bin/ptxas";
  if (!fs::exists(ptxas)) SKIP("no ptxas on this machine");
  const Isa all = isa();
  std::vector<conformance::PtxForm> forms;
  for (const IsaInstruction& one : all.instructions) forms.push_back({one.example});
  const std::string name = "evo_instructions_" + std::to_string(std::rand());
  const fs::path file = fs::temp_directory_path() / (name + ".ptx"), log = fs::temp_directory_path() / (name + ".log");
  for (const std::string& target : kTargets) {
    std::ofstream(file) << conformance::module_of(forms, target);
    const std::string command =
        ptxas.string() + " -O0 -arch " + target + " -o /dev/null " + file.string() + " >" + log.string() + " 2>&1";
    std::ignore = std::system(command.c_str());
    // Which kernel each line with an error is of.
    std::vector<std::string> lines{""};
    std::ifstream ptx(file);
    for (std::string line; std::getline(ptx, line);) lines.push_back(line);
    std::set<std::string> refused;
    const std::string errors = text_of(log);
    const std::regex error("line (\\d+); error");
    for (std::sregex_iterator match(errors.begin(), errors.end(), error), end; match != end; ++match) {
      std::size_t at = std::stoul((*match)[1]);
      while (at > 0 && !lines[at].starts_with(".visible .entry k")) --at;
      refused.insert(lines[at].substr(16, lines[at].find('(') - 16));
    }
    for (std::size_t i = 0; i < forms.size(); ++i) {
      INFO(target << ": " << all.instructions[i].name << ": " << forms[i].text);
      CHECK(is_target(all.instructions[i], target) == !refused.contains("k" + std::to_string(i)));
    }
  }
  fs::remove(file);
  fs::remove(log);
}

}  // namespace
}  // namespace evo::vgpu
