#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace evo {

/// xxh3-128 in hex over what a cubin makes the GPU do: code, constants, resource records and relocations.
/// Line tables, symbol order, the register cap and the note with the compiler's options stay out, so that two
/// sources that differ only in text, or in a cap without effect, have equal hashes. Anything that is not a
/// well-formed 64-bit ELF file is hashed whole.
std::string cubin_hash(std::span<const std::byte> cubin);

}  // namespace evo
