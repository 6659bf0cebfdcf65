#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// PTX as a syntax tree. Names are resolved to registers, variables and labels; instructions are not decoded.
/// Grammar: PTX ISA 9.0, chapters 4 "Syntax", 5 "State Spaces, Types, and Variables", 11 "Directives".
namespace evo::vgpu::ptx {

/// The fundamental types of registers, variables and instruction suffixes.
enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  u16x2,
  s16x2,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
  f32x2,
  e4m3x2,
  e5m2x2,
  e2m1x2,
  e2m3x2,
  e3m2x2,
  ue8m0x2,
};

/// Bits of a value of the type; 1 for pred.
int bits_of(Type type);
bool is_signed(Type type);
bool is_float(Type type);  ///< f16 to f64 and the packed forms.
/// `none` for a suffix that is not a type.
Type parse_type(std::string_view suffix);
std::string_view name_of(Type type);

enum class Space : std::uint8_t { none, reg, sreg, constant, global, local, param, shared, generic };

/// A variable in memory of a module or a function, or a parameter.
struct Variable {
  std::string_view name;
  Space space = Space::none;
  Type type = Type::b8;
  std::uint64_t align = 1;
  std::uint64_t bytes = 0;         ///< 0 with `unsized` for extern arrays.
  bool unsized = false;            ///< `extern .shared .b8 x[];`
  bool managed = false;            ///< The host reaches it at the same address.
  std::vector<std::uint8_t> data;  ///< Initial bytes; shorter than `bytes` means zeros.
  /// The address of another variable inside the initial bytes. It is patched when the module is loaded.
  struct Relocation {
    std::uint64_t offset = 0;
    std::string_view target;
    std::int64_t addend = 0;
    int bytes = 8;
    bool generic = false;
  };
  std::vector<Relocation> relocations;
};

struct Register {
  Type type = Type::b32;
};

constexpr int kNoRegister = -1;
constexpr int kSinkRegister = -2;  ///< `_`

struct Operand {
  enum class Kind : std::uint8_t {
    none,
    reg,       ///< `index`: register of the function; `name`: a part of it (.b0, .h1) or empty.
    special,   ///< %tid.x: `name`.
    integer,   ///< `bits`.
    f32,       ///< `bits`: 0fXXXXXXXX.
    f64,       ///< `bits`: 0dXXXXXXXXXXXXXXXX, or a decimal fraction.
    variable,  ///< `index` into Function::variables or, with `of_module`, Module::variables; plus `offset`.
    label,     ///< `index`: label of the function.
    function,  ///< `name`.
    vector,    ///< {a, b, ...}: `elements`.
    group,     ///< (a, b, ...) of a call: `elements`.
    address,   ///< [base + offset]: elements[0] is the base; further elements are coordinates.
    sink,      ///< _
  };
  Kind kind = Kind::none;
  bool negated = false;  ///< !p or -x of a register.
  bool of_module = false;
  std::uint32_t index = 0;
  std::int32_t pair = kNoRegister;  ///< Register after `|`, as in %r1|%p1.
  std::uint64_t bits = 0;
  std::int64_t offset = 0;
  std::string_view name;
  std::vector<Operand> elements;
};

/// One instruction. `parts` are the opcode's pieces between dots: {"add", "rn", "f32"}.
struct Statement {
  std::vector<std::string_view> parts;
  std::vector<Operand> operands;
  std::int32_t guard = kNoRegister;
  bool guard_negated = false;
  std::uint32_t line =
      0;  ///< Of the CUDA source, from .loc; 0: unknown. Code inlined from a header has its caller's line.
  std::uint32_t ptx_line = 0;

  std::string opcode() const;  ///< "add.rn.f32"
};

struct Function {
  std::string_view name;
  bool entry = false;
  bool defined = false;
  std::vector<Variable> variables;  ///< Results of a .func, then parameters, then the body's variables.
  std::size_t result_count = 0;
  std::size_t parameter_count = 0;
  std::vector<Register> registers;
  std::vector<Statement> body;
  std::vector<std::uint32_t> labels;                                            ///< Position in `body` of each label.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> branch_tables;  ///< Label of .branchtargets: targets.
  std::array<std::uint32_t, 3> required_block{0, 0, 0};                         ///< .reqntid; 0: free.
  std::array<std::uint32_t, 3> maximum_block{0, 0, 0};                          ///< .maxntid; 0: free.
  std::array<std::uint32_t, 3> required_cluster{0, 0, 0};                       ///< .reqnctapercluster.
};

/// All views point into `text`, so a module cannot be copied or moved.
struct Module {
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  std::string text;
  std::string target;   ///< "sm_89".
  std::string version;  ///< "9.0".
  std::vector<Variable> variables;
  std::unordered_map<std::string_view, std::uint32_t> variable_index;
  std::vector<Function> functions;
  std::unordered_map<std::string_view, std::uint32_t> function_index;
};

}  // namespace evo::vgpu::ptx
