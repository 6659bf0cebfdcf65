// Hardware counters of a GPU, on fakes of the driver and of CUPTI.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "engine/base/error.h"
#include "evaluator/cuda/driver_device.h"
#include "tests/evaluator/fake_cupti.h"
#include "tests/evaluator/fake_driver.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

/// A GPU with a program of the kernels "first" and "second".
struct ProfiledGpu {
  test::FakeGpu gpu;
  test::FakeCupti cupti;
  std::string why_no_cupti;
  std::unique_ptr<Device> device;
  std::unique_ptr<Module> module;
  Plan plan;

  ProfiledGpu() {
    gpu.kernels["first"] = gpu.kernels["second"] = {};
    const auto load = [this](std::string* why_not) {
      if (why_no_cupti.empty()) return cupti.functions();
      *why_not = why_no_cupti;
      return std::shared_ptr<const cuda::Cupti>();
    };
    device = cuda::make_device(gpu.driver(), 0, nullptr, cuda::steady_seconds, load);
    std::optional<Failure> failure;
    module = device->load({}, failure);
    REQUIRE_FALSE(failure);
    plan.launches.resize(2);
    plan.launches[0].kernel = "first";
    plan.launches[1].kernel = "second";
  }

  std::vector<LaunchProfile> profile(std::optional<Failure>& failure) {
    return device->profile(*module, plan, {}, failure);
  }
  std::vector<LaunchProfile> profile() {
    std::optional<Failure> failure;
    std::vector<LaunchProfile> launches = profile(failure);
    REQUIRE_FALSE(failure);
    return launches;
  }
};

}  // namespace

TEST_CASE("every launch of a call has its counters, by their metrics") {
  ProfiledGpu opened;
  const std::vector<LaunchProfile> launches = opened.profile();
  REQUIRE(launches.size() == 2);
  CHECK(launches[0].kernel == "first");
  CHECK(launches[1].kernel == "second");
  CHECK(launches[0].values.size() == counters().size());
  const auto second = std::string(counters()[1].metric);
  CHECK(launches[0].value(second) == 1);
  CHECK(launches[1].value(second) == 101);
  CHECK(opened.cupti.chip == "GH100");
  CHECK(opened.gpu.launches.size() == 4);  // One call to warm up, one that is counted.
}

TEST_CASE("a profiler is disabled after each call and closed with the device") {
  ProfiledGpu opened;
  opened.profile();
  opened.profile();
  CHECK(opened.cupti.enabled == 0);
  CHECK(opened.cupti.hosts == 1);
  opened.module.reset();
  opened.device.reset();
  CHECK(opened.cupti.hosts == 0);
}

TEST_CASE("a counter that the GPU lacks or cannot compute is left out") {
  ProfiledGpu opened;
  opened.cupti.unknown_metric = stall_metric("gmma");
  opened.cupti.value_of_first = std::numeric_limits<double>::quiet_NaN();
  const std::vector<LaunchProfile> launches = opened.profile();
  CHECK(opened.cupti.metrics.size() == counters().size() - 1);
  CHECK(launches[0].values.size() == counters().size() - 2);
  CHECK_FALSE(launches[0].value(stall_metric("gmma")));
}

TEST_CASE("without the permission to read counters the remedy is named") {
  ProfiledGpu opened;
  opened.cupti.on_enable = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  std::optional<Failure> failure;
  CHECK_THROWS_MATCHES(
      opened.profile(failure), Error,
      MessageMatches(ContainsSubstring("no hardware counters") &&
                     ContainsSubstring("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES") &&
                     ContainsSubstring("NVreg_RestrictProfilingToAdminUsers=0") && ContainsSubstring("CAP_SYS_ADMIN")));
  CHECK(opened.cupti.enabled == 0);
}

TEST_CASE("a machine without CUPTI says so") {
  ProfiledGpu opened;
  opened.why_no_cupti = "no hardware counters: libcupti.so not found";
  std::optional<Failure> failure;
  CHECK_THROWS_MATCHES(opened.profile(failure), Error, MessageMatches(ContainsSubstring("libcupti.so not found")));
  CHECK_FALSE(failure);
}

TEST_CASE("a kernel that faults is the candidate's failure and is not counted") {
  ProfiledGpu opened;
  opened.gpu.kernels["second"].fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  std::optional<Failure> failure;
  CHECK(opened.profile(failure).empty());
  REQUIRE(failure);
  CHECK(failure->verdict == Verdict::crashed);
  CHECK(opened.cupti.hosts == 0);
}

TEST_CASE("launches that CUPTI does not see are an error of the machine") {
  ProfiledGpu opened;
  opened.cupti.missed_ranges = 1;
  std::optional<Failure> failure;
  CHECK_THROWS_MATCHES(opened.profile(failure), Error, MessageMatches(ContainsSubstring("CUPTI saw 1 of 2 launches")));
}
