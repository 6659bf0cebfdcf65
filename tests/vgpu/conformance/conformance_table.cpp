#include "tests/vgpu/conformance/conformance_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "evaluator/vgpu/ptx/load_error.h"
#include "tests/vgpu/conformance/ptx_forms.h"
#include "tests/vgpu/conformance/recorded_words.h"
#include "tests/vgpu/gpu_for_tests.h"

namespace evo::vgpu {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

/// The instruction of a form, with its modifiers. Of several in braces a call, or else the first.
std::string name_of(const std::string& form, const std::set<std::string>& opcodes) {
  std::string first;
  for (const std::string& statement : split(form, ';'))
    for (const std::string& word : split(statement, ' ')) {
      const std::string opcode = word.substr(0, word.find('.'));
      if (opcode == "call") return word;
      if (first.empty() && opcodes.contains(opcode)) first = word;
    }
  return first;
}

IsaInstruction parse(const std::string& line, const std::string& section) {
  const std::size_t at = line.find(" @ "), bar = line.find(" | "), why = line.find(" ! ");
  if (at == std::string::npos || bar == std::string::npos) throw std::runtime_error("malformed line: " + line);
  IsaInstruction one;
  one.section = section;
  one.name = line.substr(0, at);
  one.targets = split(line.substr(at + 3, bar - at - 3), ' ');
  if (one.targets.front().ends_with('+')) {
    one.and_newer = true;
    one.targets.front().pop_back();
  }
  one.example = line.substr(bar + 3, why == std::string::npos ? why : why - bar - 3);
  if (why != std::string::npos) one.reason = line.substr(why + 3);
  return one;
}

bool loads(const IsaInstruction& instruction) {
  TestGpu gpu;
  try {
    gpu.load_ptx(conformance::module_of({{instruction.example}}, instruction.targets.front()));
    gpu.module().kernel("k0");
  } catch (const LoadError&) {
    return false;
  }
  return true;
}

struct Forms {
  int listed = 0, compared = 0;
};

/// The parts of a name, if all are parts of forms.
std::vector<std::string> parts_of(const std::string& name) {
  return name.find(' ') == std::string::npos ? split(name, '.') : std::vector<std::string>();
}

/// The row that says most of a form. Null: none is of its opcode.
const IsaInstruction* row_of(const std::string& form, const Isa& all) {
  const std::vector<std::string> has = split(form, '.');
  const IsaInstruction* best = nullptr;
  std::size_t most = 0;
  for (const IsaInstruction& one : all.instructions) {
    const std::vector<std::string> wanted = parts_of(one.name);
    if (wanted.size() <= most || has.empty() || wanted.front() != has.front()) continue;
    if (!std::ranges::all_of(wanted, [&](const std::string& part) { return std::ranges::count(has, part) > 0; }))
      continue;
    best = &one;
    most = wanted.size();
  }
  return best;
}

std::map<const IsaInstruction*, Forms> forms_of(const Isa& all) {
  const std::set<std::string> recorded = recorded_words();
  std::map<const IsaInstruction*, Forms> forms;
  for (const conformance::PtxForm& form : conformance::ptx_forms()) {
    const std::string name = name_of(form.text, all.opcodes);
    const IsaInstruction* row = row_of(name, all);
    if (row == nullptr) throw std::runtime_error("tests/data/ptx_instructions.txt has no row for " + form.text);
    ++forms[row].listed;
    forms[row].compared += recorded.contains(name) ? 1 : 0;
  }
  return forms;
}

std::string checked(const IsaInstruction& one, const Forms& forms) {
  if (forms.compared > 0) return fmt::format("H200, bitwise: {} of {} forms", forms.compared, forms.listed);
  const auto why = kNotCompared.find(one.opcode());
  return "document, not checked on hardware" + (why == kNotCompared.end() ? "" : ": " + why->second);
}

}  // namespace

std::string IsaInstruction::opcode() const {
  return name.substr(0, name.find_first_of(". "));
}

Isa isa() {
  std::ifstream file(EVO_TEST_DATA "/ptx_instructions.txt");
  if (!file) throw std::runtime_error("tests/data/ptx_instructions.txt is missing");
  Isa all;
  std::string section;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# 9.7.")) section = line.substr(2);
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '=') {
      for (const std::string& opcode : split(line.substr(1), ' ')) all.opcodes.insert(opcode);
    } else {
      all.instructions.push_back(parse(line, section));
    }
  }
  return all;
}

std::string conformance_table(const Isa& all) {
  std::map<const IsaInstruction*, Forms> forms = forms_of(all);
  std::string text, section;
  int there = 0;
  for (const IsaInstruction& one : all.instructions) {
    if (one.section != section)
      text +=
          fmt::format("\n## {}\n| instruction | targets | here | checked against |\n|---|---|---|---|\n", one.section);
    section = one.section;
    const bool has = loads(one);
    there += has ? 1 : 0;
    const std::string targets =
        one.and_newer ? one.targets.front() + " and newer" : fmt::format("{}", fmt::join(one.targets, ", "));
    const std::string missing = one.reason.empty() ? "no" : "no: " + one.reason;
    text += fmt::format("| {} | {} | {} | {} |\n", one.name, targets, has ? "yes" : missing,
                        has ? checked(one, forms[&one]) : "");
  }
  return fmt::format("{} of {} rows are there.\n{}", there, all.instructions.size(), text);
}

}  // namespace evo::vgpu
