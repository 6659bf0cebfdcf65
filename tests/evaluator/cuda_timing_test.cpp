#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <tuple>
#include <utility>

#include "evaluator/cuda/driver_device.h"
#include "evaluator/cuda/timing.h"
#include "tests/evaluator/fake_driver.h"

using namespace evo;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using test::FakeGpu;

namespace {

/// Shows the clocks and processes that the test sets. A power limit is reported once, by the next query.
class FakeMonitor final : public cuda::GpuMonitor {
 public:
  FakeMonitor(cuda::GpuClocks& clocks, int& looks, std::function<int()> others)
      : clocks_(clocks), looks_(looks), others_(std::move(others)) {}
  cuda::GpuClocks clocks() override {
    ++looks_;
    const cuda::GpuClocks seen = clocks_;
    clocks_.power_limited = false;
    return seen;
  }
  int other_processes() override { return others_(); }

 private:
  cuda::GpuClocks& clocks_;
  int& looks_;
  std::function<int()> others_;
};

struct Bench {
  FakeGpu gpu;
  cuda::GpuClocks clocks;
  int looks = 0;
  int others = 0;
  std::vector<double> queries_for_others_us;
  std::unique_ptr<Device> device;
  std::unique_ptr<Module> module;
  std::vector<Buffers> rotation{1};
  std::optional<Failure> failure;
  Plan plan;

  explicit Bench(double kernel_us) {
    gpu.kernels["k"].us = kernel_us;
    plan.launches.resize(1);
    plan.launches[0].kernel = "k";
    device = cuda::make_device(gpu.driver(), 0,
                               std::make_unique<FakeMonitor>(clocks, looks,
                                                             [this] {
                                                               queries_for_others_us.push_back(gpu.now_us);
                                                               return others;
                                                             }),
                               [this] { return gpu.now_us * 1e-6; });
    module = device->load({}, failure);
  }

  /// Every second replay takes `us` longer.
  void add_noise(double us) {
    gpu.on_replay = [this, us] { gpu.now_us += gpu.replays % 2 == 0 ? 0 : us; };
  }

  Timing time(const TimingRequest& request = {}) { return device->time(*module, plan, rotation, request, failure); }
  Timing cold() {
    TimingRequest request;
    request.cold = true;
    return time(request);
  }
};

}  // namespace

TEST_CASE("a graph holds 20 calls, more of short ones and fewer of long ones") {
  CHECK(cuda::calls_per_graph(5, 1) == 20);
  CHECK(cuda::calls_per_graph(0, 1) == 20);
  CHECK(cuda::calls_per_graph(1, 1) == 50);
  CHECK(cuda::calls_per_graph(0.001, 1) == 1000);
  CHECK(cuda::calls_per_graph(1000, 1) == 4);
  CHECK(cuda::calls_per_graph(1e6, 1) == 1);
}

TEST_CASE("every set of buffers is used equally often in a graph") {
  CHECK(cuda::calls_per_graph(5, 3) == 21);
  CHECK(cuda::calls_per_graph(5, 32) == 32);
  CHECK(cuda::calls_per_graph(1e6, 4) == 4);
}

TEST_CASE("a warm time is the time of a call within a graph, without launch latency") {
  Bench bench(7.5);
  const Timing timing = bench.time();
  REQUIRE_FALSE(bench.failure);
  CHECK(timing.median_us == Approx(7.5));
  CHECK(timing.low_us == Approx(7.5));
  CHECK_FALSE(timing.cold);
  CHECK_FALSE(timing.modelled);
  CHECK(timing.samples_us.size() == 200);
  CHECK(bench.gpu.graph_sizes == std::vector<std::size_t>{20});
}

TEST_CASE("a call that is shorter than its launch gets a longer graph") {
  Bench bench(0.6);
  const Timing timing = bench.time();
  CHECK(timing.median_us == Approx(0.6));
  CHECK(bench.gpu.graph_sizes == std::vector<std::size_t>{20, 84});
}

TEST_CASE("a call of several launches and a zeroed workspace is timed as a whole") {
  Bench bench(4);
  bench.plan.launches.push_back(bench.plan.launches[0]);
  bench.plan.workspaces.push_back({"partial", 256, true});
  bench.rotation[0].workspaces = {bench.device->allocate(256, "partial")};
  CHECK(bench.time().median_us == Approx(4 + 4 + 1));
  CHECK(bench.gpu.graph_sizes == std::vector<std::size_t>{60});
}

TEST_CASE("sets of buffers are rotated within a graph and over cold launches") {
  Bench bench(5);
  FakeGpu::Kernel& kernel = bench.gpu.kernels["k"];
  std::map<std::int64_t, int> uses;
  kernel.parameter_bytes = {8};
  kernel.body = [&](void** parameters) { ++uses[*static_cast<std::int64_t*>(parameters[0])]; };
  bench.plan.tensors.push_back({"x", DType::f32, 4, false});
  bench.plan.launches[0].arguments.push_back({Argument::Kind::tensor, 0});
  bench.rotation = {{{1000}, {}}, {{2000}, {}}, {{3000}, {}}};
  bench.time();
  REQUIRE_FALSE(bench.failure);
  CHECK(uses.size() == 3);
  CHECK(uses[1000] == uses[2000]);
  CHECK(uses[1000] == uses[3000]);
  uses.clear();
  bench.cold();
  CHECK(uses.size() == 3);
}

TEST_CASE("before each cold launch at least twice the L2 cache is written") {
  Bench bench(5);
  const Timing timing = bench.cold();
  REQUIRE_FALSE(bench.failure);
  CHECK(timing.cold);
  CHECK(timing.median_us == Approx(5 + bench.gpu.launch_latency_us));
  CHECK(bench.gpu.memsets.size() > timing.samples_us.size());
  for (std::size_t bytes : bench.gpu.memsets) CHECK(bytes >= 2 * (std::size_t{60} << 20));
  CHECK(bench.gpu.replays == 0);
}

TEST_CASE("noise is sampled until the interval is tight or the maximum is reached") {
  Bench bench(5);
  bench.add_noise(20);
  TimingRequest request;
  request.max_samples = 77;
  const Timing timing = bench.time(request);
  CHECK(timing.samples_us.size() == 77);
  CHECK(timing.low_us == Approx(5));
  CHECK(timing.high_us == Approx(6));
}

TEST_CASE("noise is sampled no longer than the request's seconds") {
  Bench bench(100);
  bench.add_noise(2000);
  TimingRequest request;
  request.max_seconds = 0.1;
  const Timing timing = bench.time(request);
  // Replays of 20 calls take 2 and 4 ms alternately.
  CHECK(timing.samples_us.size() > 30);
  CHECK(timing.samples_us.size() < 36);
}

TEST_CASE("sampling continues for as long as clocks swing under a power limit") {
  Bench bench(100);
  // 2 ms a replay, half a per cent more in the second half of every 100 ms of load.
  bench.gpu.on_replay = [&] { bench.gpu.now_us += std::fmod(bench.gpu.now_us, 100'000) < 50'000 ? 0 : 10; };
  const Timing timing = bench.time();
  CHECK(timing.samples_us.size() >= 24);
  CHECK(timing.samples_us.size() <= 30);
}

TEST_CASE("sampling is short where the warm-up has kept the full clock") {
  constexpr int kFullMhz = 1980;
  const auto samples = [](int sm_mhz, bool limited) {
    Bench bench(100);
    bench.clocks.sm_mhz = sm_mhz;
    bench.gpu.on_replay = [&] { bench.clocks.power_limited = limited; };
    return bench.time().samples_us.size();
  };
  const std::size_t at_full_clock = samples(kFullMhz, false);
  CHECK(at_full_clock == 20);                             // 40 ms of them: the fewest.
  CHECK(samples(kFullMhz - 100, false) > at_full_clock);  // 50 ms
  CHECK(samples(kFullMhz, true) == samples(kFullMhz - 100, false));
}

TEST_CASE("a call that is hopeless early in the warm-up is timed by a few samples") {
  TimingRequest request;
  request.hopeless_us = 9;
  const auto time = [&request](double kernel_us, int every, double delay_us) {
    Bench bench(kernel_us);
    bench.gpu.on_replay = [&] { bench.gpu.now_us += bench.gpu.replays % every == 0 ? delay_us : 0; };
    Timing timing = bench.time(request);
    return std::pair(std::move(timing), bench.gpu.now_us);
  };
  const auto [slow, slow_end_us] = time(10, 1, 0);
  CHECK(slow.samples_us.size() == 5);
  CHECK(slow.median_us == Approx(10));
  CHECK(slow_end_us < 15'000);
  CHECK(time(8, 1, 0).first.samples_us.size() >= 20);
  CHECK(time(8, 7, 1000).first.samples_us.size() >= 20);  // One slow sample is no proof.
}

TEST_CASE("a disturbance of some samples makes no call hopeless") {
  TimingRequest request;
  request.hopeless_us = 9;
  Bench bench(8);
  bench.gpu.on_replay = [&] { bench.gpu.now_us += bench.gpu.now_us > 10'000 && bench.gpu.now_us < 11'500 ? 80 : 0; };
  const Timing timing = bench.time(request);
  CHECK(timing.samples_us.size() > 10);
  CHECK(timing.median_us == Approx(8));
}

TEST_CASE("the warm-up of a call that is not better than the one to beat is short") {
  TimingRequest request;
  request.to_beat_us = 9;
  const auto time = [&request](double kernel_us, int every) {
    Bench bench(kernel_us);
    bench.clocks.sm_mhz = 1980;
    bench.gpu.on_replay = [&] { bench.gpu.now_us += bench.gpu.replays % every == 0 ? 1000 : 0; };
    Timing timing = bench.time(request);
    return std::tuple(timing.median_us, timing.samples_us.size(), bench.gpu.now_us);
  };
  const auto [us, samples, end_us] = time(9.5, 1'000'000);
  CHECK(us == Approx(9.5));
  CHECK(samples >= 20);  // as many as of any other
  CHECK(end_us > 28'000);
  CHECK(end_us < 34'000);
  CHECK(std::get<2>(time(8.5, 1'000'000)) > 108'000);
  CHECK(std::get<2>(time(8.5, 7)) > 108'000);  // One slow sample is no proof.
}

TEST_CASE("sampling starts after slowly rising clocks have settled") {
  Bench bench(5);
  bench.gpu.on_replay = [&] { bench.gpu.now_us += bench.gpu.now_us < 9000 ? 300 : 0; };
  const Timing timing = bench.time();
  CHECK(timing.samples_us.size() == 200);
  CHECK(timing.high_us == Approx(5));
}

TEST_CASE("sampling starts after a power limit has lowered the clocks under load") {
  Bench bench(5);
  // 20 calls in a replay: 6 us a call once the GPU has worked for 80 ms.
  bench.gpu.on_replay = [&] { bench.gpu.now_us += bench.gpu.now_us > 80'000 ? 20 : 0; };
  const Timing timing = bench.time();
  CHECK(timing.samples_us.size() == 200);
  CHECK(timing.low_us == Approx(6));
}

TEST_CASE("samples under lowered clocks are dropped and counted") {
  Bench bench(5);
  // From 101 to 106 ms: after the untimed repetitions, which take 100 ms, a replay takes twice as long.
  bench.gpu.on_replay = [&] {
    bench.clocks.throttled = bench.gpu.now_us > 101'000 && bench.gpu.now_us < 106'000;
    if (bench.clocks.throttled) bench.gpu.now_us += 100;
  };
  const Timing timing = bench.time();
  CHECK(timing.throttled >= 5);
  CHECK(timing.samples_us.size() >= 20);
  CHECK(timing.high_us == Approx(5));
}

TEST_CASE("every sample is kept when the clocks never recover") {
  Bench bench(5);
  bench.clocks.throttled = true;
  TimingRequest request;
  request.max_samples = 40;
  const Timing timing = bench.time(request);
  CHECK(timing.throttled == 0);
  CHECK(timing.samples_us.size() == 40);
}

TEST_CASE("clocks are looked at every few milliseconds, however short a sample is") {
  Bench bench(5);
  REQUIRE(bench.time().samples_us.size() == 200);  // of 0.1 ms each
  CHECK(bench.looks == 5);                         // One ahead of them.
}

TEST_CASE("a timing reports the range of its clocks") {
  Bench bench(5);
  bench.clocks = {.throttled = false, .sm_mhz = 1980, .memory_mhz = 3201};
  bench.gpu.on_replay = [&] { bench.clocks.sm_mhz = bench.gpu.now_us > 106'000 ? 1410 : 1980; };
  const Conditions conditions = bench.time().conditions;
  CHECK(conditions.sm_mhz_low == 1410);
  CHECK(conditions.sm_mhz_high == 1980);
  CHECK(conditions.memory_mhz == 3201);
  CHECK(conditions.other_processes == 0);
  CHECK(to_text(conditions) == "SM 1410-1980 MHz, memory 3201 MHz");
  bench.clocks = {};
  bench.gpu.on_replay = [] {};
  CHECK(to_text(bench.time().conditions).empty());
}

TEST_CASE("a power limit is reported only with the timing in which it lowered the clocks") {
  Bench bench(5);
  bench.clocks.sm_mhz = 1410;
  bench.gpu.on_replay = [&] { bench.clocks.power_limited = true; };
  CHECK(to_text(bench.time().conditions) == "SM 1410 MHz (power limit)");
  const double begin_us = bench.gpu.now_us;
  // The untimed repetitions take 100 ms.
  bench.gpu.on_replay = [&] { bench.clocks.power_limited |= bench.gpu.now_us < begin_us + 99'000; };
  CHECK(to_text(bench.time().conditions) == "SM 1410 MHz");
}

TEST_CASE("a process that computes during a timing is detected, also if it starts or ends meanwhile") {
  Bench bench(5);
  bench.others = 2;
  // The untimed repetitions take 100 ms.
  bench.gpu.on_replay = [&] { bench.others = bench.gpu.now_us < 101'000 ? 2 : 0; };
  CHECK(bench.time().conditions.other_processes == 2);
  bench.gpu.on_replay = [&] { bench.others = 1; };
  CHECK(bench.time().conditions.other_processes == 1);
}

TEST_CASE("other processes are not queried between warm-up and samples, because the GPU would idle") {
  Bench bench(5);
  bench.time();
  REQUIRE(bench.queries_for_others_us.size() == 2);
  CHECK(bench.queries_for_others_us[0] < 1'000);
  CHECK(bench.queries_for_others_us[1] > 119'000);  // 100 ms untimed, 200 samples of 100 us.
}

TEST_CASE("our own processes on a GPU are not counted as others") {
  const std::vector<unsigned> processes = {10, 20, 30};
  CHECK(cuda::count_others({}, [](unsigned) { return true; }) == 0);
  CHECK(cuda::count_others(processes, [](unsigned) { return true; }) == 0);
  CHECK(cuda::count_others(processes, [](unsigned process) { return process == 20; }) == 2);
  // The numbers are those of another PID namespace: two processes may be ours.
  CHECK(cuda::count_others(processes, [](unsigned) { return false; }) == 1);
  CHECK(cuda::count_others(std::span(processes).first(2), [](unsigned) { return false; }) == 0);
}

TEST_CASE("a fault while timing is a failure that loses the device") {
  Bench bench(5);
  bench.gpu.on_replay = [&] {
    if (bench.gpu.replays == 10) bench.gpu.kernels["k"].fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  };
  const Timing timing = bench.time();
  REQUIRE(bench.failure);
  CHECK(bench.failure->verdict == Verdict::crashed);
  CHECK(bench.failure->device_lost);
  CHECK(timing.samples_us.empty());
}

TEST_CASE("a launch refused within a capture ends the capture") {
  Bench bench(5);
  bench.gpu.results["graph_instantiate"] = CUDA_ERROR_INVALID_VALUE;
  bench.time();
  REQUIRE(bench.failure);
  CHECK(bench.failure->verdict == Verdict::launch_failed);
  CHECK_FALSE(bench.failure->device_lost);
  bench.gpu.results.clear();
  bench.time();
  CHECK_FALSE(bench.failure);
}

TEST_CASE("a timing releases its events and graphs") {
  Bench bench(5);
  bench.time();
  const int before = bench.gpu.live_handles;
  bench.time();
  CHECK(bench.gpu.live_handles == before);
}

TEST_CASE("sequences of calls and writes are timed as one graph each, in every round, the last one last") {
  Bench bench(7);
  const DeviceAddress to = bench.device->allocate(64, "x");
  const CallSequence calls = {{0, {}}, {0, {}}};
  CallSequence with_writes = {{0, {{{to, 64, 0, std::byte{1}}}}}, {0, {{{to, 64, 0, std::byte{2}}}, {}}, false}};
  const auto costs = bench.device->time_sequences(*bench.module, bench.plan, bench.rotation,
                                                  std::vector<CallSequence>{calls, with_writes}, 3, bench.failure);
  REQUIRE_FALSE(bench.failure);
  REQUIRE(costs.size() == 3);
  for (const std::vector<SequenceCost>& round : costs) {
    CHECK(round.at(0).us == Approx(2 * 7));
    CHECK(round.at(1).us == Approx(7 + 2 * bench.gpu.kernels["evo_write"].us));
  }
  std::vector<std::byte> found(64);
  bench.device->download(found, to);
  CHECK(found == std::vector<std::byte>(64, std::byte{2}));
}
