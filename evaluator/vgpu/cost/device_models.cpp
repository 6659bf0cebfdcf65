#include "evaluator/vgpu/cost/device_models.h"

#include <charconv>
#include <string>

#include "engine/base/error.h"
#include "engine/device/launch_rules.h"

namespace evo::vgpu {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

/// Hopper. Rates of one SM as measured on an H200 with dependent-free loops; mma.sync reaches 62 % of what wgmma does.
/// Latencies: Luo et al. 2024, "Dissecting the NVIDIA Hopper Architecture through Microbenchmarking".
constexpr DeviceModel hopper() {
  DeviceModel model;
  model.arch = "sm_90a";
  model.sm = 90;
  model.sm_count = 132;
  model.gpc_sms = {18, 18, 18, 18, 16, 16, 14, 14};
  model.clock_ghz = 1.98;
  model.sustained_clock_ghz = 1.83;
  model.l2_bytes_per_clock = 5120;
  model.l1_and_smem_bytes = 256 * kKiB;
  model.launch_floor_us = 0.61;
  model.dependent_launch_us = 0.54;
  model.block_launch_clocks = 20;
  model.rates.convert_pack = 63;
  model.rates.convert_to_fp8 = 31.5;
  model.rates.convert_from_fp8 = 49;
  model.rates.double_fma = 64;
  model.mma = {.half = 2540, .half_f16 = 2540, .tf32 = 1270, .fp8 = 0, .fp8_f16 = 0, .int8 = 5080, .f64 = 256};
  model.wgmma = {.half = 4096, .half_f16 = 4096, .tf32 = 2048, .fp8 = 8192, .fp8_f16 = 8192, .int8 = 8192, .f64 = 0};
  model.latencies.mma = 25;
  model.latencies.l2 = 265;
  model.latencies.memory = 600;
  return model;
}

constexpr DeviceModel h200() {
  DeviceModel model = hopper();
  model.name = "h200";
  model.title = "NVIDIA H200";
  model.memory_bytes = 141 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 60 * kMiB;
  model.memory_gbytes_per_s = 4800;
  return model;
}

constexpr DeviceModel h100() {
  DeviceModel model = hopper();
  model.name = "h100";
  model.title = "NVIDIA H100 80GB HBM3";
  model.memory_bytes = 80 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 50 * kMiB;
  model.memory_gbytes_per_s = 3350;
  return model;
}

/// Whitepaper: boost clocks, of which the tensor cores keep 1.62 GHz.
constexpr DeviceModel h100_pcie() {
  DeviceModel model = h100();
  model.name = "h100_pcie";
  model.title = "NVIDIA H100 PCIe";
  model.sm_count = 114;
  model.gpc_sms = {16, 16, 16, 16, 16, 16, 18, 0};
  model.clock_ghz = 1.755;
  model.sustained_clock_ghz = 1.62;
  model.memory_gbytes_per_s = 2000;
  return model;
}

/// The Hopper of a GH200 with 96 GB.
constexpr DeviceModel gh200() {
  DeviceModel model = h200();
  model.name = "gh200";
  model.title = "NVIDIA GH200 480GB";
  model.memory_bytes = 96 * 1000 * 1000 * 1000LL;
  model.memory_gbytes_per_s = 4000;
  return model;
}

/// Rates: CUDA C++ Programming Guide, arithmetic throughput of 8.0; NVIDIA A100 whitepaper. Not measured here.
constexpr DeviceModel a100() {
  DeviceModel model;
  model.name = "a100";
  model.title = "NVIDIA A100-SXM4-80GB";
  model.arch = "sm_80";
  model.sm = 80;
  model.sm_count = 108;
  model.clock_ghz = 1.41;
  model.sustained_clock_ghz = 1.41;
  model.memory_bytes = 80 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 40 * kMiB;
  model.memory_gbytes_per_s = 2039;
  model.l2_bytes_per_clock = 5120;
  model.l1_and_smem_bytes = 192 * kKiB;
  model.launch_floor_us = 1.0;
  model.dependent_launch_us = 1.0;
  model.block_launch_clocks = 20;
  model.rates.float_fma = 64;
  model.rates.half_fma = 128;
  model.rates.double_fma = 32;
  model.mma = {.half = 2048, .half_f16 = 2048, .tf32 = 1024, .fp8 = 0, .fp8_f16 = 0, .int8 = 4096, .f64 = 128};
  model.latencies.mma = 17;
  model.latencies.l2 = 220;
  model.latencies.memory = 480;
  return model;
}

constexpr DeviceModel a100_40gb() {
  DeviceModel model = a100();
  model.name = "a100_40gb";
  model.title = "NVIDIA A100-SXM4-40GB";
  model.memory_bytes = 40 * 1000 * 1000 * 1000LL;
  model.memory_gbytes_per_s = 1555;
  return model;
}

/// Rates: CUDA C++ Programming Guide, arithmetic throughput of 7.5; NVIDIA Turing whitepaper and T4 datasheet.
/// Latencies: Jia et al. 2019, "Dissecting the NVidia Turing T4 GPU via Microbenchmarking". Not measured here. Its
/// board power of 70 W holds the clock below the maximum under load; by how much is not published.
constexpr DeviceModel t4() {
  DeviceModel model;
  model.name = "t4";
  model.title = "Tesla T4";
  model.arch = "sm_75";
  model.sm = 75;
  model.sm_count = 40;
  model.clock_ghz = 1.59;
  model.sustained_clock_ghz = 1.59;
  model.memory_bytes = 16 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 4 * kMiB;
  model.memory_gbytes_per_s = 320;
  model.l2_bytes_per_clock = 1024;
  model.l1_and_smem_bytes = 96 * kKiB;
  model.launch_floor_us = 1.0;
  model.dependent_launch_us = 1.0;
  model.block_launch_clocks = 20;
  model.rates.float_fma = 64;
  model.rates.half_fma = 64;
  model.rates.double_fma = 2;
  model.mma = {.half = 1024, .half_f16 = 1024, .tf32 = 0, .fp8 = 0, .fp8_f16 = 0, .int8 = 2048, .f64 = 0};
  model.latencies.mma = 14;
  model.latencies.l1 = 32;
  model.latencies.l2 = 188;
  model.latencies.memory = 480;
  return model;
}

/// GA102. Rates: CUDA C++ Programming Guide, arithmetic throughput of 8.6; NVIDIA Ampere GA102 whitepaper; latencies as
/// those of A100. Not measured here.
constexpr DeviceModel ga102() {
  DeviceModel model = a100();
  model.arch = "sm_86";
  model.sm = 86;
  model.clock_ghz = 1.695;
  model.sustained_clock_ghz = 1.695;
  model.memory_bytes = 24 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 6 * kMiB;
  model.l2_bytes_per_clock = 1536;
  model.l1_and_smem_bytes = 128 * kKiB;
  model.rates.float_fma = 128;
  model.rates.half_fma = 64;
  model.rates.double_fma = 2;
  return model;
}

constexpr DeviceModel a10() {
  DeviceModel model = ga102();
  model.name = "a10";
  model.title = "NVIDIA A10";
  model.sm_count = 72;
  model.memory_gbytes_per_s = 600;
  model.mma = {.half = 1024, .half_f16 = 1024, .tf32 = 512, .fp8 = 0, .fp8_f16 = 0, .int8 = 2048, .f64 = 4};
  return model;
}

/// GeForce: f32 accumulators halve the tensor cores' rate.
constexpr DeviceModel rtx3090() {
  DeviceModel model = ga102();
  model.name = "rtx3090";
  model.title = "NVIDIA GeForce RTX 3090";
  model.sm_count = 82;
  model.memory_gbytes_per_s = 936;
  model.mma = {.half = 512, .half_f16 = 1024, .tf32 = 256, .fp8 = 0, .fp8_f16 = 0, .int8 = 2048, .f64 = 4};
  return model;
}

/// Jetson AGX Orin with 64 GB, whose CPU shares the memory. Rates: Jetson AGX Orin technical brief; latencies as those
/// of A100. Not measured here.
constexpr DeviceModel orin() {
  DeviceModel model = ga102();
  model.name = "orin";
  model.title = "Orin";
  model.arch = "sm_87";
  model.sm = 87;
  model.sm_count = 16;
  model.clock_ghz = 1.3;
  model.sustained_clock_ghz = 1.3;
  model.memory_bytes = 64 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 4 * kMiB;
  model.memory_gbytes_per_s = 204.8;
  model.l2_bytes_per_clock = 512;
  model.l1_and_smem_bytes = 192 * kKiB;
  model.mma = {.half = 2048, .half_f16 = 2048, .tf32 = 1024, .fp8 = 0, .fp8_f16 = 0, .int8 = 4096, .f64 = 4};
  return model;
}

/// Rates: CUDA C++ Programming Guide, arithmetic throughput of 8.9; NVIDIA Ada whitepaper. Not measured here.
constexpr DeviceModel ada() {
  DeviceModel model;
  model.arch = "sm_89";
  model.sm = 89;
  model.l1_and_smem_bytes = 128 * kKiB;
  model.launch_floor_us = 0.9;
  model.dependent_launch_us = 0.9;
  model.block_launch_clocks = 20;
  model.rates.half_fma = 64;
  model.rates.double_fma = 2;
  model.latencies.mma = 17;
  model.latencies.l2 = 270;
  model.latencies.memory = 550;
  return model;
}

/// Its board power of 72 W holds the clock well below the maximum under tensor-core load.
constexpr DeviceModel l4() {
  DeviceModel model = ada();
  model.name = "l4";
  model.title = "NVIDIA L4";
  model.sm_count = 58;
  model.clock_ghz = 2.04;
  model.sustained_clock_ghz = 1.6;
  model.memory_bytes = 24 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 48 * kMiB;
  model.memory_gbytes_per_s = 300;
  model.l2_bytes_per_clock = 1536;
  model.mma = {.half = 1024, .half_f16 = 1024, .tf32 = 512, .fp8 = 2048, .fp8_f16 = 2048, .int8 = 2048, .f64 = 4};
  return model;
}

/// Rates as L4's; its datasheet has the clock and the memory.
constexpr DeviceModel l40s() {
  DeviceModel model = l4();
  model.name = "l40s";
  model.title = "NVIDIA L40S";
  model.sm_count = 142;
  model.clock_ghz = 2.52;
  model.sustained_clock_ghz = 2.52;
  model.memory_bytes = 48 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 96 * kMiB;
  model.memory_gbytes_per_s = 864;
  model.l2_bytes_per_clock = 3072;
  return model;
}

/// GeForce: f32 accumulators halve the tensor cores' rate.
constexpr DeviceModel rtx4090() {
  DeviceModel model = ada();
  model.name = "rtx4090";
  model.title = "NVIDIA GeForce RTX 4090";
  model.sm_count = 128;
  model.clock_ghz = 2.52;
  model.sustained_clock_ghz = 2.52;
  model.memory_bytes = 24 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 72 * kMiB;
  model.memory_gbytes_per_s = 1008;
  model.l2_bytes_per_clock = 3072;
  model.mma = {.half = 512, .half_f16 = 1024, .tf32 = 256, .fp8 = 1024, .fp8_f16 = 2048, .int8 = 2048, .f64 = 4};
  return model;
}

/// GB202 and its kin. Rates: NVIDIA RTX Blackwell GPU architecture whitepaper 1.1, and the CUDA C++ Programming Guide
/// 13.0, arithmetic throughput of 12.0. Latencies of L2 and memory: Jarmusch et al. 2025, arXiv 2507.10789, of a GB203.
/// What neither tells is as on Ada; the SMs of each GPC are not published. Not measured here.
constexpr DeviceModel rtx_blackwell() {
  DeviceModel model = ada();
  model.arch = "sm_120a";
  model.sm = 120;
  model.l2_bytes_per_clock = 3072;
  model.latencies.l2 = 358;
  model.latencies.memory = 877;
  return model;
}

/// GeForce: f32 accumulators halve the tensor cores' rate, but for FP4.
constexpr DeviceModel rtx5090() {
  DeviceModel model = rtx_blackwell();
  model.name = "rtx5090";
  model.title = "NVIDIA GeForce RTX 5090";
  model.sm_count = 170;
  model.clock_ghz = 2.407;
  model.sustained_clock_ghz = 2.407;
  model.memory_bytes = 32 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 96 * kMiB;
  model.memory_gbytes_per_s = 1792;
  model.mma = {
      .half = 512, .half_f16 = 1024, .tf32 = 256, .fp8 = 1024, .fp8_f16 = 2048, .fp4 = 4096, .int8 = 2048, .f64 = 4};
  return model;
}

/// Whitepaper: NVIDIA RTX Blackwell PRO GPU architecture 1.0, of the workstation edition.
constexpr DeviceModel rtx_pro_6000() {
  DeviceModel model = rtx_blackwell();
  model.name = "rtx_pro_6000";
  model.title = "NVIDIA RTX PRO 6000 Blackwell Workstation Edition";
  model.sm_count = 188;
  model.clock_ghz = 2.617;
  model.sustained_clock_ghz = 2.617;
  model.memory_bytes = 96 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 128 * kMiB;
  model.memory_gbytes_per_s = 1792;
  model.mma = {
      .half = 1024, .half_f16 = 1024, .tf32 = 512, .fp8 = 2048, .fp8_f16 = 2048, .fp4 = 4096, .int8 = 2048, .f64 = 4};
  return model;
}

/// The GPU of a DGX Spark, whose CPU shares the memory. Its data sheet has 6,144 cores, 273 GB/s and 1 PFLOP/s of
/// sparse FP4: at GB202's 8192 flop per SM and clock the clock is 2.54 GHz. The rates of other types are not published;
/// they are those of the RTX PRO 6000.
constexpr DeviceModel gb10() {
  DeviceModel model = rtx_pro_6000();
  model.name = "gb10";
  model.title = "NVIDIA GB10";
  model.arch = "sm_121a";
  model.sm = 121;
  model.sm_count = 48;
  model.clock_ghz = 2.54;
  model.sustained_clock_ghz = 2.54;
  model.memory_bytes = 128 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 24 * kMiB;
  model.memory_gbytes_per_s = 273;
  model.l2_bytes_per_clock = 1536;
  return model;
}

/// Blackwell of data centres. No rate here is measured. f16 by tcgen05: 8192 flop per clock and SM, which gives the
/// published 2.25 PFLOP/s of B200 at 1.86 GHz (NVIDIA Blackwell Architecture Technical Brief, HGX B200) and the 258
/// TFLOP/s of Thor; 8-bit floats have twice, 4-bit floats four times that rate. Nothing is published of mma.sync, nor
/// of latencies: they are Hopper's. A die has the L2 of an H100.
constexpr DeviceModel tcgen05_blackwell() {
  DeviceModel model = hopper();
  model.wgmma = {};
  model.tcgen05 = {
      .half = 8192, .half_f16 = 8192, .tf32 = 4096, .fp8 = 16384, .fp8_f16 = 16384, .fp4 = 32768, .int8 = 16384};
  return model;
}

/// SMs, clock and L2 as the driver tells them. How many SMs each GPC has is not published: a guess.
constexpr DeviceModel b200() {
  DeviceModel model = tcgen05_blackwell();
  model.name = "b200";
  model.title = "NVIDIA B200";
  model.arch = "sm_100a";
  model.sm = 100;
  model.sm_count = 148;
  model.gpc_sms = {20, 20, 18, 18, 18, 18, 18, 18};
  model.clock_ghz = 1.965;
  model.sustained_clock_ghz = 1.86;
  model.memory_bytes = 180 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 126 * kMiB;
  model.memory_gbytes_per_s = 8000;
  model.l2_bytes_per_clock = 10240;
  return model;
}

/// NVIDIA's "Inside NVIDIA Blackwell Ultra" (2025): 15 PFLOP/s of dense NVFP4, twice the rate of MUFU, and hardly any
/// products of int8 or f64; the rest as B200.
constexpr DeviceModel b300() {
  DeviceModel model = b200();
  model.name = "b300";
  model.title = "NVIDIA B300";
  model.arch = "sm_103a";
  model.sm = 103;
  model.memory_bytes = 288 * 1000 * 1000 * 1000LL;
  model.rates.special = 32;
  model.rates.double_fma = 2;
  model.mma.f64 = 4;
  model.tcgen05.int8 = 0;
  model.tcgen05.fp4 = 49152;
  return model;
}

/// Jetson AGX Thor (T5000), whose CPU shares the memory. Rates: its datasheet; SMs and L2 as the driver tells them.
constexpr DeviceModel thor() {
  DeviceModel model = tcgen05_blackwell();
  model.name = "thor";
  model.title = "NVIDIA Thor";
  model.arch = "sm_110a";
  model.sm = 110;
  model.sm_count = 20;
  model.gpc_sms = {8, 6, 6, 0, 0, 0, 0, 0};
  model.clock_ghz = 1.575;
  model.sustained_clock_ghz = 1.575;
  model.memory_bytes = 128 * 1000 * 1000 * 1000LL;
  model.l2_bytes = 32 * kMiB;
  model.memory_gbytes_per_s = 273;
  model.l2_bytes_per_clock = 1024;
  model.rates.double_fma = 2;
  model.mma.f64 = 4;
  return model;
}

constexpr std::array kModels = {h200(),    h100(), h100_pcie(), gh200(),        a100(),    a100_40gb(), a10(),
                                rtx3090(), orin(), l4(),        l40s(),         rtx4090(), t4(),        b200(),
                                b300(),    thor(), rtx5090(),   rtx_pro_6000(), gb10()};

}  // namespace

std::span<const DeviceModel> device_models() {
  return kModels;
}

const DeviceModel& device_model(std::string_view name) {
  std::string known;
  for (const DeviceModel& model : kModels) {
    if (model.name == name) return model;
    known.append(known.empty() ? "" : ", ").append(model.name);
  }
  throw usage_error("there is no virtual GPU '" + std::string(name) + "': there are " + known);
}

bool runs_target(const DeviceModel& model, std::string_view target) {
  constexpr std::string_view kPrefix = "sm_";
  if (!target.starts_with(kPrefix)) return true;  // The module does not say.
  target.remove_prefix(kPrefix.size());
  int sm = 0;
  const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), sm);
  if (error != std::errc()) return false;
  const std::string_view suffix(end, static_cast<std::size_t>(target.data() + target.size() - end));
  if (suffix == "a") return model.sm == sm;
  if (suffix == "f") return model.sm / 10 == sm / 10 && model.sm >= sm;
  return suffix.empty() && model.sm >= sm;
}

DeviceLimits limits_of(const DeviceModel& model) {
  DeviceLimits limits = evo::limits_of(launch_rules(model.sm));
  limits.sm_count = model.sm_count;
  return limits;
}

DeviceInfo device_info(const DeviceModel& model) {
  DeviceInfo info;
  info.kind = kKind;
  info.id = info.kind + ":" + std::string(model.name);
  info.name = std::string(model.title) + " (virtual)";
  info.arch = model.arch;
  info.limits = limits_of(model);
  info.memory_bytes = model.memory_bytes;
  info.l2_bytes = model.l2_bytes;
  info.clock_ghz = model.clock_ghz;
  info.memory_gbytes_per_s = model.memory_gbytes_per_s;
  info.launch_floor_us = model.launch_floor_us;
  return info;
}

}  // namespace evo::vgpu
