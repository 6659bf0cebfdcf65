#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/number.h"
#include "engine/record/record.h"

namespace evo {

using Dim3 = std::array<std::uint32_t, 3>;

/// Where a kernel argument comes from.
struct Argument {
  enum class Kind {
    tensor,      ///< Device pointer: plan.tensors[index].
    workspace,   ///< Device pointer: plan.workspaces[index]; null when that has 0 bytes.
    tensor_map,  ///< 128-byte CUtensorMap by value (__grid_constant__): plan.tensor_maps[index].
    value,       ///< `fields` by value: a scalar, or a struct as C lays it out.
  };
  Kind kind = Kind::value;
  std::size_t index = 0;
  std::vector<Scalar> fields = {};

  static Argument of_int(std::int32_t value) { return {Kind::value, 0, {{{DType::s32, 1}, {std::int64_t{value}}}}}; }
};

EVO_RECORD(Argument, kind, index, fields);

struct Launch {
  std::string kernel;
  Dim3 grid{1, 1, 1};
  Dim3 block{1, 1, 1};
  Dim3 cluster{1, 1, 1};
  std::uint32_t dynamic_smem_bytes = 0;
  bool programmatic = false;  ///< Programmatic dependent launch: may start before the launch ahead of it has ended.
  std::vector<Argument> arguments;
};

EVO_RECORD(Launch, kernel, grid, block, cluster, dynamic_smem_bytes, programmatic, arguments);

/// A tensor of the task as a plan sees it: inputs first, then outputs, in the task's order. With 0 bytes it is absent:
/// nothing is allocated and its address is null.
struct PlanTensor {
  std::string name;
  DType dtype = DType::f32;
  std::uint64_t bytes = 0;
  bool output = false;
  bool inout = false;  ///< An output that holds drawn values before the call.
  /// Elements along each dim and from one to the next, outermost first. Empty: dense.
  std::vector<std::uint64_t> dims = {};
  std::vector<std::uint64_t> strides = {};

  /// One of drawn_tensors, absent or not.
  bool drawn() const { return !output || inout; }
  bool is_changed_in_place() const { return inout && bytes > 0; }
};

EVO_RECORD(PlanTensor, name, dtype, bytes, output, inout, dims, strides);

/// Scratch memory of a candidate, alive over all launches of one call. Its content is undefined at the start
/// of a call unless zeroed. With 0 bytes the candidate does not use it: nothing is allocated and its address
/// is null.
struct Workspace {
  std::string name;
  std::uint64_t bytes = 0;
  bool zeroed = false;
};

EVO_RECORD(Workspace, name, bytes, zeroed);

/// A TMA descriptor over a tensor or workspace (PTX ISA 5.5.7; CUDA driver API cuTensorMapEncodeTiled).
/// Innermost dimension first, as the driver takes them.
struct TensorMap {
  std::string name;
  Argument source;  ///< Kind tensor or workspace.
  DType dtype = DType::u8;
  std::vector<std::uint64_t> dims;           ///< Elements.
  std::vector<std::uint64_t> strides_bytes;  ///< One fewer than dims: the innermost stride is the element.
  std::vector<std::uint32_t> box;            ///< Elements.
  std::uint32_t swizzle_bytes = 0;           ///< 0, 32, 64 or 128.
};

EVO_RECORD(TensorMap, name, source, dtype, dims, strides_bytes, box, swizzle_bytes);

/// Why no device can encode a tensor map: lists that do not fit its dims, or an unknown swizzle. Empty: it can.
std::string why_malformed(const TensorMap& map);

/// A variable of the program, __constant__ or __device__, that is filled before a call.
struct Constant {
  std::string symbol;  ///< As C++ calls it: "d_filter", "ns::weights".
  Argument source;     ///< Kind tensor, an input all of whose bytes it gets, or value. As large as the variable.
};

EVO_RECORD(Constant, symbol, source);

/// The host side of a candidate for one shape: data, so that it runs on any device and cannot touch the
/// harness.
struct Plan {
  std::vector<PlanTensor> tensors;
  std::vector<Workspace> workspaces;
  std::vector<TensorMap> tensor_maps;
  std::vector<Constant> constants;
  std::vector<Launch> launches;  ///< In stream order; together they are one call of the task.
};

EVO_RECORD(Plan, tensors, workspaces, tensor_maps, constants, launches);

}  // namespace evo
