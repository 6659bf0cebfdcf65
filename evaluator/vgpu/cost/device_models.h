#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "evaluator/device/device.h"

/// The GPUs that the virtual GPU can model: their limits, rates and latencies.
namespace evo::vgpu {

/// Throughput of one SM, in results of threads per clock where no other unit is given.
struct PipeRates {
  double issue = 4;  ///< Warp instructions per clock: one for each sub-partition.
  double float_fma = 128;
  double half_fma = 128;  ///< Instructions on packed pairs count once.
  double alu = 64;        ///< Integer, logic, comparison, selection, permutation.
  double integer_multiply = 64;
  double double_fma = 2;
  double special = 16;           ///< MUFU.
  double convert = 16;           ///< Between integer and float, or f64.
  double convert_pack = 64;      ///< Between f32 and f16, pairs at once.
  double convert_to_fp8 = 32;    ///< To e4m3x2 or e5m2x2.
  double convert_from_fp8 = 64;  ///< e4m3x2 or e5m2x2 to f16x2.
  double shuffle = 32;
  double vote = 64;
  double shared_bytes = 128;        ///< Bytes per clock through the shared-memory banks: one wavefront.
  double l1_bytes = 64;             ///< Bytes per clock between an SM and L2.
  double remote_shared_bytes = 16;  ///< Bytes per clock that an SM reads from other blocks' shared memory.
};

/// mma.sync throughput of one SM in flop (or integer op) per clock. 0: the types are not supported.
struct MmaRates {
  double half = 0;      ///< f16 and bf16 operands, f32 accumulator.
  double half_f16 = 0;  ///< f16 accumulator.
  double tf32 = 0;
  double fp8 = 0;  ///< Unused where 8-bit floats are converted to f16 first.
  double fp8_f16 = 0;
  double fp4 = 0;  ///< e2m1 operands with block scales.
  double int8 = 0;
  double f64 = 0;
};

/// Clocks from issue until a dependent instruction can issue.
struct Latencies {
  double alu = 4;
  double fma = 4;
  double integer_multiply = 4;
  double double_fma = 8;
  double special = 18;
  double convert = 12;
  double convert_pack = 6;
  double shuffle = 24;
  double vote = 12;
  double redux = 24;
  double shared = 29;  ///< ld.shared, ldmatrix without conflicts.
  double l1 = 34;
  double l2 = 260;
  double memory = 560;
  double constant = 8;
  double atomic = 300;
  double mma = 18;       ///< Fixed part; the occupied clocks of the tensor core are added.
  double wgmma = 60;     ///< From the last product of a group until its wait ends.
  double wgmma_gap = 8;  ///< Gap in the tensor core between products of one warpgroup.
  double barrier = 22;
  double mbarrier = 20;          ///< From the end of a phase until its waiters continue.
  double bulk_copy = 170;        ///< Of the copy engine, in addition to the path to memory.
  double remote_shared = 190;    ///< Of another block of the cluster.
  double cluster_barrier = 190;  ///< From the last arrival at a cluster's barrier until the waiters continue.
  double fence = 20;             ///< Of a fence at block scope.
  double branch = 8;
  double special_register = 18;
};

struct DeviceModel {
  std::string_view name;   ///< "h200"
  std::string_view title;  ///< As the driver names the GPU: "NVIDIA H200". Searches find its model by it.
  std::string_view arch;   ///< The architecture that NVRTC compiles for.
  int sm = 0;              ///< Compute capability times ten; its limits are in engine/device/launch_rules.h.
  int sm_count = 0;
  double clock_ghz = 0;            ///< Maximum.
  double sustained_clock_ghz = 0;  ///< The clock under load, at which latencies are modelled.
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  double memory_gbytes_per_s = 0;
  double l2_bytes_per_clock = 0;       ///< Of the whole chip.
  std::int64_t l1_and_smem_bytes = 0;  ///< L1 and shared memory together.
  /// SMs of each GPC, where there are clusters: all blocks of a cluster run in one GPC.
  std::array<int, 8> gpc_sms{};
  double launch_floor_us = 0;      ///< Latency of an empty kernel in a graph of many.
  double dependent_launch_us = 0;  ///< The same launched programmatically.
  double block_launch_clocks = 0;  ///< Between blocks that one SM starts.
  PipeRates rates;
  MmaRates mma;
  MmaRates wgmma;    ///< Rates of wgmma.
  MmaRates tcgen05;  ///< Rates of tcgen05.mma.
  Latencies latencies;
};

/// The kind of a virtual GPU: begins the ids ("vgpu:h200").
inline constexpr std::string_view kKind = "vgpu";

/// The first one, h200, is the default.
std::span<const DeviceModel> device_models();

/// Throws usage_error, which lists the names, for an unknown one.
const DeviceModel& device_model(std::string_view name);

/// Whether the GPU runs what was compiled for a target such as sm_80: plain ones run on this and newer GPUs, sm_90a
/// only there, sm_100f in its family (PTX ISA 9.0, 11.1.2).
bool runs_target(const DeviceModel& model, std::string_view target);

/// What its compute capability allows, with its number of SMs.
DeviceLimits limits_of(const DeviceModel& model);

/// The device that `resolve_device` returns for a model: its id is "vgpu:h200".
DeviceInfo device_info(const DeviceModel& model);

}  // namespace evo::vgpu
