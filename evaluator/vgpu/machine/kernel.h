#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "evaluator/vgpu/machine/instruction.h"
#include "evaluator/vgpu/machine/procedure.h"
#include "evaluator/vgpu/machine/product_watch.h"
#include "evaluator/vgpu/machine/trace.h"
#include "evaluator/vgpu/machine/warpgroup_product.h"
#include "evaluator/vgpu/numbers/tensor_core.h"
#include "evaluator/vgpu/ptx/ptx.h"

/// A kernel ready to run: PTX decoded into an array of instructions whose operands are places in a warp's
/// registers.
namespace evo::vgpu {

/// Values that differ between warps or blocks, most of them not during a block: kept in rows that are filled when it
/// starts.
enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
  aggr_smem_size,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  reserved_smem_begin,  ///< Of the system's bytes of shared memory.
  reserved_smem_end,
  reserved_smem_cap,
  reserved_smem,        ///< The system's bytes of shared memory that cooperative groups may use.
  grid_workspace_high,  ///< Where the driver keeps a cooperative launch's barrier.
  grid_workspace_low,
  zero,   ///< Never set: performance monitors, a graph's number, the driver's other environment.
  frame,  ///< Of the called function that is running, in local memory: a lane's own, and it changes.
  stack,  ///< Where the next frame begins.
};

struct SpecialRow {
  Special special = Special::tid_x;
  Place place = 0;
};

struct KernelParameter {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  ptx::Type type = ptx::Type::b8;  ///< As declared; of an array, its elements'.
};

/// A variable in shared memory, for reports.
struct SharedVariable {
  std::string name;
  std::uint32_t address = 0;
  std::uint32_t bytes = 0;
};

/// A constant that is an address in a variable of shared or local memory: whatever is computed from it stays in that
/// variable.
struct VariableAddress {
  Place place = 0;  ///< Of the constant. No other number has this one.
  ptx::Space space = ptx::Space::shared;
  std::string name;
  std::uint32_t begin = 0;  ///< Of the variable, in its space.
  std::uint32_t end = 0;    ///< kNowhere for dynamic shared memory: as much as the launch gives.
};

/// Lists of register numbers of all instructions, for the cost model; `traced[i]` belongs to `code[i]`.
struct TraceTable {
  std::uint32_t register_count = 0;  ///< One more than the highest number.
  std::vector<std::uint16_t> registers;
  std::vector<TracedInstruction> traced;
};

struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  std::vector<std::uint32_t> lines;  ///< CUDA source line of each instruction; 0: unknown.
  std::vector<std::uint32_t> ptx_lines;
  std::vector<std::string> opcodes;  ///< Distinct opcodes; `opcode_of[i]` indexes it.
  std::vector<std::uint32_t> opcode_of;
  std::vector<Place> places;             ///< Operand lists of instructions with many.
  std::vector<std::uint32_t> constants;  ///< Rows of immediates; 64-byte alignment is the loader's duty.
  std::vector<std::uint32_t> tables;     ///< Branch tables: instruction indices.
  std::vector<MmaForm> mma_forms;
  std::vector<WarpgroupForm> warpgroup_forms;
  ProductRegisters product_registers;
  int tensor_blocks = 0;  ///< .cta_group of its tcgen05 instructions; 0: it has none.
  std::vector<SpecialRow> specials;
  std::vector<Procedure> procedures;
  std::vector<CallSite> call_sites;
  std::vector<std::uint32_t> procedure_of_function;  ///< By the module's numbers, for calls through pointers; kNowhere.
  Place frame_place =
      0;  ///< Rows of Special::frame and Special::stack, if there are calls or allocations on the stack.
  Place stack_place = 0;
  std::vector<KernelParameter> parameters;
  std::vector<SharedVariable> shared_variables;     ///< The static ones.
  std::string dynamic_smem_name;                    ///< Of the first array without a size; empty: there is none.
  std::vector<VariableAddress> variable_addresses;  ///< By place.
  TraceTable trace;

  std::uint32_t parameter_bytes = 0;
  std::uint32_t rows = 0;  ///< Of each warp.
  std::uint32_t predicates = 1;
  std::uint32_t caches = 0;  ///< Memory instructions.
  std::uint32_t static_smem_bytes = 0;
  std::uint32_t local_bytes = 0;          ///< Of each thread.
  std::uint32_t reserved_smem = 0;        ///< Offset in the static part; Special::reserved_smem.
  std::uint32_t reserved_smem_bytes = 0;  ///< Zero when a block begins, as the system leaves them.
  bool independent_blocks = false;        ///< blocks_are_independent()
  bool shares_counters = false;           ///< blocks_share_counters()
  bool awaits_blocks = false;             ///< A loop of it polls what another block may write.
  bool cooperative = false;               ///< It asks for the grid's barrier: all its blocks must be resident.
  std::array<std::uint32_t, 3> required_block{0, 0, 0};
  std::array<std::uint32_t, 3> maximum_block{0, 0, 0};
  std::array<std::uint32_t, 3> required_cluster{0, 0, 0};  ///< 0: whatever the launch says.

  // Of an instruction of `code`.
  std::uint32_t index_of(const Instruction& in) const { return static_cast<std::uint32_t>(&in - code.data()); }
  std::uint32_t line_of(const Instruction& in) const { return lines[index_of(in)]; }
  const std::string& opcode_at(std::uint32_t index) const { return opcodes[opcode_of[index]]; }
};

}  // namespace evo::vgpu
