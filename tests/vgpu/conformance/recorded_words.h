#pragma once

#include <map>
#include <set>
#include <string>

/// What was compared with an H200, bit by bit.
namespace evo::vgpu {

/// Every word of the PTX of the recorded cases: an instruction is compared if its name, with all modifiers, is one.
std::set<std::string> recorded_words();

/// Opcodes whose forms are not compared, and why: without a result, or with one that no GPU guarantees.
extern const std::map<std::string, std::string> kNotCompared;

}  // namespace evo::vgpu
