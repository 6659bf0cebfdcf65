#include "evaluator/pipeline/doctor.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <optional>

#include "engine/base/error.h"
#include "evaluator/cuda/driver_device.h"
#include "tests/evaluator/fake_driver.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A compiler that accepts every source and returns an empty binary.
class FakeCompiler final : public Compiler {
 public:
  std::variant<Binary, Failure> compile(const SourceRequest&) override {
    if (missing) throw machine_error("no such architecture");
    return Binary{};
  }
  std::string version() override { return "0"; }
  bool missing = false;
};

/// A GPU whose probe kernel writes thread * slope + 1.
struct Probed {
  test::FakeGpu gpu;
  FakeCompiler compiler;

  explicit Probed(int slope) {
    test::FakeGpu::Kernel& kernel = gpu.kernels["evo_probe"];
    kernel.parameter_bytes = {8, 4};
    kernel.body = [slope](void** parameters) {
      auto* out = reinterpret_cast<std::int32_t*>(*static_cast<DeviceAddress*>(parameters[0]));
      for (int i = 0; i < 64; ++i) out[i] = slope * i + 1;
    };
  }
  Check check() { return check_device(*cuda::make_device(gpu.driver(), 0, nullptr), compiler); }
};

}  // namespace

TEST_CASE("a device that computes the test kernel right passes") {
  Probed probed(3);
  const Check check = probed.check();
  CHECK(check.ok);
  CHECK(check.name == "cuda:0");
  CHECK_THAT(check.found, ContainsSubstring("132 SMs") && ContainsSubstring("227 KB"));
  CHECK(check.fix.empty());
}

TEST_CASE("a device that computes the test kernel wrong fails") {
  Probed probed(2);
  const Check check = probed.check();
  CHECK_FALSE(check.ok);
  CHECK_THAT(check.found, ContainsSubstring("computed 3 for thread 1"));
  CHECK_FALSE(check.fix.empty());
}

TEST_CASE("a device that refuses the test kernel fails") {
  Probed probed(3);
  probed.gpu.results["launch"] = CUDA_ERROR_OUT_OF_MEMORY;
  CHECK_FALSE(probed.check().ok);
  probed.gpu.results = {{"memory_allocate", CUDA_ERROR_OUT_OF_MEMORY}};
  CHECK_THAT(probed.check().found, ContainsSubstring("out of memory"));
  probed.compiler.missing = true;
  CHECK_THAT(probed.check().found, ContainsSubstring("no such architecture"));
}

TEST_CASE("a device whose limits differ from its launch rules is reported with the differences") {
  Probed probed(3);
  const auto limits = [&] { return check_limits(cuda::make_device(probed.gpu.driver(), 0, nullptr)->info()); };
  CHECK_FALSE(limits().has_value());
  probed.gpu.attributes[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = 200 << 10;
  const std::optional<Check> check = limits();
  REQUIRE(check.has_value());
  CHECK_FALSE(check->ok);
  CHECK(check->name == "limits of cuda:0");
  CHECK(check->found == "204800 bytes of shared memory an SM instead of 233472");
  CHECK_THAT(check->fix, ContainsSubstring("sm_90"));
  CHECK(check->device_kind.empty());
}

TEST_CASE("the report covers driver, NVRTC and virtual GPU, and says how to install missing parts") {
  const DoctorReport report = examine_machine();
  for (const char* name : {"NVIDIA driver", "NVRTC", "virtual GPU"}) {
    CHECK(std::any_of(report.checks.begin(), report.checks.end(),
                      [&](const Check& check) { return check.name == name; }));
  }
  for (const Check& check : report.checks) {
    INFO(check.name << ": " << check.found);
    CHECK_FALSE(check.found.empty());
    CHECK(check.fix.empty() == check.ok);
  }
}
