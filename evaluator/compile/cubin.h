#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace evo {

/// xxh3-128 in hex over what a cubin makes the GPU do: code, constants, resource records and relocations.
/// Line tables, symbol order, the register cap and the note with the compiler's options stay out, so that two
/// sources that differ only in text, or in a cap without effect, have equal hashes. Anything that is not a
/// well-formed 64-bit ELF file is hashed whole.
std::string cubin_hash(std::span<const std::byte> cubin);

/// The same over these kernels and functions alone, with the variables of the program.
std::string cubin_hash(std::span<const std::byte> cubin, const std::set<std::string>& routines);

/// The machine code of each kernel and function of a cubin, by name: parts of `cubin`, 16 bytes an instruction from
/// sm_70 on. Empty for anything that is not a well-formed 64-bit ELF file.
std::vector<std::span<const std::byte>> machine_code(std::span<const std::byte> cubin);

}  // namespace evo
