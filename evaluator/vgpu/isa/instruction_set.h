#pragma once

#include <string>

#include "evaluator/vgpu/decode/operation.h"

/// All instructions of PTX that the virtual GPU knows.
namespace evo::vgpu {

/// How a statement is decoded; null for an instruction that the virtual GPU does not know.
DecodeFunction find_operation(const ptx::Statement& statement);

/// The instruction set as a Markdown table, one row for each subject: docs/vgpu.md has it.
std::string instruction_table();

}  // namespace evo::vgpu
