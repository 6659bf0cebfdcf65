#pragma once

#include <cstdint>
#include <string_view>

#include "evaluator/vgpu/ptx/ptx.h"

namespace evo::vgpu {

class Form;

/// The operand types that an operation is for. A name such as "add" belongs to several subjects.
enum class Operands : std::uint8_t {
  any,
  integers,  ///< Integer and untyped bits.
  singles,   ///< f32 and f64.
  halves,    ///< f16, bf16 and their pairs.
};

/// Decodes the instructions of one name.
using DecodeFunction = void (*)(Form& form);
struct Operation {
  std::string_view name;
  Operands operands;
  DecodeFunction decode;
};

/// Null for an instruction that does not exist.
using FindOperation = DecodeFunction (*)(const ptx::Statement& statement);

}  // namespace evo::vgpu
