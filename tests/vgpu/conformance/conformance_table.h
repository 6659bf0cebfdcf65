#pragma once

#include <set>
#include <string>
#include <vector>

/// Which instructions of the PTX ISA the virtual GPU has, and what each was checked against.
namespace evo::vgpu {

/// A line of tests/data/ptx_instructions.txt.
struct IsaInstruction {
  std::string section;
  std::string name;
  std::vector<std::string> targets;
  bool and_newer = false;  ///< All behind the one target have it too.
  std::string example;
  std::string reason;  ///< Why it is refused, if it is.

  std::string opcode() const;
};

struct Isa {
  std::set<std::string> opcodes;
  std::vector<IsaInstruction> instructions;
};
Isa isa();

/// The table of docs/vgpu_conformance.md, section by section. It follows the decoder: what that loads is there.
std::string conformance_table(const Isa& all);

}  // namespace evo::vgpu
