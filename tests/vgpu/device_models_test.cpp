#include "evaluator/vgpu/cost/device_models.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <optional>
#include <set>
#include <string>

#include "engine/base/error.h"
#include "engine/device/launch_rules.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::vgpu {
namespace {

DeviceInfo info_of(std::string_view name) {
  return device_info(device_model(name));
}

TEST_CASE("the models are h200 by default and GPUs from T4 to Blackwell") {
  std::string names;
  for (const DeviceModel& model : device_models()) {
    names.append(model.name).append(" ");
    CHECK(&device_model(model.name) == &model);
  }
  CHECK(names ==
        "h200 h100 h100_pcie gh200 a100 a100_40gb a10 rtx3090 orin l4 l40s rtx4090 t4 b200 b300 thor rtx5090 "
        "rtx_pro_6000 "
        "gb10 ");
}

TEST_CASE("an unknown model is refused with the list of names") {
  try {
    device_model("k80");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::usage);
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("k80") &&
                                 Catch::Matchers::ContainsSubstring("h200, h100, h100_pcie, gh200, a100,"));
  }
}

TEST_CASE("each model compiles for its own architecture") {
  CHECK(info_of("h200").arch == "sm_90a");
  CHECK(info_of("h100").arch == "sm_90a");
  CHECK(info_of("a100").arch == "sm_80");
  CHECK(info_of("l4").arch == "sm_89");
  CHECK(info_of("rtx4090").arch == "sm_89");
  CHECK(info_of("rtx3090").arch == "sm_86");
  CHECK(info_of("orin").arch == "sm_87");
  CHECK(info_of("t4").arch == "sm_75");
  CHECK(info_of("rtx5090").arch == "sm_120a");
  CHECK(info_of("rtx_pro_6000").arch == "sm_120a");
  CHECK(info_of("gb10").arch == "sm_121a");
  CHECK(info_of("b200").arch == "sm_100a");
  CHECK(info_of("b300").arch == "sm_103a");
  CHECK(info_of("thor").arch == "sm_110a");
}

TEST_CASE("plain targets run on newer models, those with suffix a on their own, those with suffix f in their family") {
  const auto runs = [](std::string_view model, std::string_view target) {
    return runs_target(device_model(model), target);
  };
  for (const char* target : {"sm_75", "sm_80", "sm_89", "sm_90", "sm_90a"}) CHECK(runs("h200", target));
  for (const char* target : {"sm_80a", "sm_100", "sm_100a", "sm_100f", "sm_120", "sm_90x", "sm_"})
    CHECK_FALSE(runs("h200", target));
  CHECK(runs("a100", "sm_80"));
  CHECK(runs("l4", "sm_80"));
  CHECK(runs("l4", "sm_80f"));
  for (const char* target : {"sm_90", "sm_100", "sm_120", "sm_120a", "sm_120f"}) CHECK(runs("rtx5090", target));
  for (const char* target : {"sm_90a", "sm_100a", "sm_100f", "sm_121", "sm_121a", "sm_121f"})
    CHECK_FALSE(runs("rtx5090", target));
  for (const char* target : {"sm_120", "sm_120f", "sm_121a"}) CHECK(runs("gb10", target));
  CHECK_FALSE(runs("gb10", "sm_120a"));
  for (const char* target : {"sm_86", "sm_90", "sm_90a"}) CHECK_FALSE(runs("a100", target));
  for (const char* target : {"sm_90", "sm_100", "sm_100a", "sm_100f"}) CHECK(runs("b200", target));
  for (const char* target : {"sm_90a", "sm_103a", "sm_103f", "sm_110f", "sm_120"}) CHECK_FALSE(runs("b200", target));
  for (const char* target : {"sm_100f", "sm_103f", "sm_103a"}) CHECK(runs("b300", target));
  CHECK_FALSE(runs("b300", "sm_100a"));
  for (const char* target : {"sm_100", "sm_110f", "sm_110a"}) CHECK(runs("thor", target));
  CHECK_FALSE(runs("thor", "sm_100f"));
}

TEST_CASE("a program for another GPU is refused when it is loaded, as a driver does") {
  const auto failure_on = [](const char* model) {
    const auto gpu = make_device(model);
    Binary binary;
    binary.ptx = ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n";
    std::optional<Failure> failure;
    const auto module = gpu->load(binary, failure);
    CHECK((module == nullptr) == failure.has_value());
    return failure;
  };
  CHECK_FALSE(failure_on("h200"));
  const auto refused = failure_on("a100");
  REQUIRE(refused);
  CHECK(refused->verdict == Verdict::launch_failed);
  CHECK(refused->reason ==
        "the program was compiled for sm_90a, which NVIDIA A100-SXM4-80GB (virtual) (sm_80) does not run");
}

TEST_CASE("the facts of each model are complete and consistent") {
  std::set<std::string> ids;
  for (const DeviceModel& model : device_models()) {
    const DeviceInfo info = device_info(model);
    CAPTURE(info.id);
    CHECK(ids.insert(info.id).second);
    CHECK(info.kind == "vgpu");
    CHECK(info.arch.starts_with("sm_" + std::to_string(info.limits.sm)));
    CHECK(info.limits.sm_count > 0);
    CHECK(info.limits.smem_per_block_bytes + launch_rules(model.sm).smem_reserved_bytes <=
          info.limits.smem_per_sm_bytes);
    CHECK(info.limits.smem_per_sm_bytes <= model.l1_and_smem_bytes);
    CHECK(info.limits.registers_per_sm == 65536);
    CHECK(info.l2_bytes >= 4'000'000);
    CHECK(info.memory_bytes > info.l2_bytes);
    CHECK(info.launch_floor_us > 0);
    CHECK(model.dependent_launch_us <= model.launch_floor_us);
    CHECK(model.sustained_clock_ghz <= model.clock_ghz);
    CHECK(model.mma.half > 0);
    CHECK(model.latencies.shared < model.latencies.l2);
    CHECK(model.latencies.l2 < model.latencies.memory);
  }
}

TEST_CASE("the H200's peaks are the vendor's at its maximum clock") {
  const DeviceInfo h200 = info_of("h200");
  CHECK(h200.limits.sm_count == 132);
  CHECK(h200.peak_tflops(DType::e4m3) == Catch::Approx(8192 * 132 * 1.98e-3).epsilon(1e-6));
  CHECK(h200.peak_tflops(DType::bf16) == Catch::Approx(h200.peak_tflops(DType::e4m3) / 2));
  CHECK(info_of("a100").peak_tflops(DType::e4m3) == 0);
  CHECK(info_of("a100").peak_tflops(DType::f16) == Catch::Approx(312).epsilon(0.01));
  CHECK(info_of("l4").peak_tflops(DType::e4m3) == Catch::Approx(242).epsilon(0.01));
}

TEST_CASE("each model's tensor cores have the published rate of f16") {
  const auto rate = [](std::string_view name) {
    const DeviceModel& model = device_model(name);
    return model.mma.half * model.sm_count * model.clock_ghz * 1e-3;
  };
  CHECK(rate("a100") == Catch::Approx(312).epsilon(0.01));
  CHECK(rate("a100_40gb") == Catch::Approx(312).epsilon(0.01));
  CHECK(rate("a10") == Catch::Approx(125).epsilon(0.01));
  CHECK(rate("rtx3090") == Catch::Approx(71).epsilon(0.01));
  CHECK(rate("orin") == Catch::Approx(42.5).epsilon(0.01));
  CHECK(rate("l4") == Catch::Approx(121).epsilon(0.01));
  CHECK(rate("l40s") == Catch::Approx(366).epsilon(0.01));
  CHECK(rate("rtx4090") == Catch::Approx(165).epsilon(0.01));
  CHECK(rate("t4") == Catch::Approx(65).epsilon(0.01));
  CHECK(rate("rtx5090") == Catch::Approx(209.5).epsilon(0.01));
  CHECK(rate("rtx_pro_6000") == Catch::Approx(503.8).epsilon(0.01));
  const auto tcgen05 = [](std::string_view name) {
    const DeviceModel& model = device_model(name);
    return model.tcgen05.half * model.sm_count * model.sustained_clock_ghz * 1e-3;
  };
  CHECK(tcgen05("b200") == Catch::Approx(2250).epsilon(0.01));
  CHECK(tcgen05("b300") == Catch::Approx(2250).epsilon(0.01));
  CHECK(tcgen05("thor") == Catch::Approx(258).epsilon(0.01));
  const DeviceModel& pcie = device_model("h100_pcie");
  CHECK(pcie.wgmma.half * pcie.sm_count * pcie.sustained_clock_ghz * 1e-3 == Catch::Approx(756).epsilon(0.01));
}

TEST_CASE("the models with block scales have the published rate of dense FP4, and others have none") {
  const auto rate = [](std::string_view name) {
    const DeviceModel& model = device_model(name);
    return model.mma.fp4 * model.sm_count * model.clock_ghz * 1e-3;
  };
  CHECK(rate("rtx5090") == Catch::Approx(1676).epsilon(0.01));
  CHECK(rate("rtx_pro_6000") == Catch::Approx(2015).epsilon(0.01));
  CHECK(rate("gb10") == Catch::Approx(500).epsilon(0.01));
  CHECK(rate("rtx4090") == 0);
}

}  // namespace
}  // namespace evo::vgpu
