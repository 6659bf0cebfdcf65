// The CUDA device on a fake driver: its calls of the driver, and how it handles the driver's errors.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "engine/base/error.h"
#include "evaluator/cuda/cuda_device.h"
#include "evaluator/cuda/device_query.h"
#include "evaluator/cuda/digest_kernel.h"
#include "evaluator/cuda/driver_device.h"
#include "evaluator/device/digest.h"
#include "tests/evaluator/fake_driver.h"

using namespace evo;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using test::FakeGpu;

namespace {

/// A plan of one launch of "k" with no arguments.
Plan one_launch() {
  Plan plan;
  plan.launches.resize(1);
  plan.launches[0].kernel = "k";
  return plan;
}

struct Opened {
  FakeGpu gpu;
  std::unique_ptr<Device> device;
  std::unique_ptr<Module> module;

  Opened() {
    gpu.kernels["k"] = {};
    device = cuda::make_device(gpu.driver(), 0, nullptr);
    std::optional<Failure> failure;
    module = device->load({}, failure);
    REQUIRE_FALSE(failure);
  }
  std::optional<Failure> run(const Plan& plan, const Buffers& buffers = {}) {
    return device->run(*module, plan, buffers);
  }
  Failure failure_of(const Plan& plan, const Buffers& buffers = {}) {
    const std::optional<Failure> failure = run(plan, buffers);
    REQUIRE(failure);
    return *failure;
  }
};

const CUlaunchAttribute* attribute(const FakeGpu::Seen& seen, CUlaunchAttributeID id) {
  for (const CUlaunchAttribute& attribute : seen.attributes) {
    if (attribute.id == id) return &attribute;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("architectures from compute capability 9.0 on are named with their specific instructions") {
  CHECK(cuda::arch_name(8, 9) == "sm_89");
  CHECK(cuda::arch_name(9, 0) == "sm_90a");
  CHECK(cuda::arch_name(10, 3) == "sm_103a");
  CHECK(cuda::arch_name(12, 0) == "sm_120a");
}

TEST_CASE("a GPU's attributes become its limits and rates") {
  FakeGpu gpu;
  const std::vector<DeviceInfo> devices = cuda::list_devices(*gpu.driver(), nullptr);
  REQUIRE(devices.size() == 1);
  const DeviceInfo& info = devices[0];
  CHECK(info.id == "cuda:0");
  CHECK(info.kind == "cuda");
  CHECK(info.name == "Fake GPU");
  CHECK(info.arch == "sm_90a");
  CHECK(info.uuid == "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff");
  CHECK(info.driver == "CUDA 13.0");
  CHECK(info.limits.sm == 90);
  CHECK(info.limits.smem_per_block_bytes == 232448);
  CHECK(info.limits.sm_count == 132);
  CHECK(info.l2_bytes == 60 << 20);
  CHECK(info.clock_ghz == Approx(1.98));
  CHECK(info.memory_gbytes_per_s == Approx(4916.7).epsilon(1e-4));
  // The H200's published dense peaks: 1979 TFLOP/s in fp8, 989 in f16, at 1.83 GHz.
  CHECK(info.peak_tflops(DType::e4m3) == Approx(1979 * 1.98 / 1.83).epsilon(0.01));
  CHECK(info.peak_tflops(DType::bf16) == Approx(989.5 * 1.98 / 1.83).epsilon(0.01));
  CHECK(info.peak_tflops(DType::f32) == 0);
}

TEST_CASE("the error on a machine without a usable GPU names the missing part") {
  FakeGpu gpu;
  std::string why;
  gpu.devices = 0;
  CHECK(cuda::list_devices(*gpu.driver(), &why).empty());
  CHECK(why == "NVIDIA driver found, but no GPU");
  gpu.results["init"] = CUDA_ERROR_NO_DEVICE;
  cuda::list_devices(*gpu.driver(), &why);
  CHECK(why == "NVIDIA driver found, but no GPU");
  gpu.results["init"] = CUDA_ERROR_STUB_LIBRARY;
  cuda::list_devices(*gpu.driver(), &why);
  CHECK_THAT(why, ContainsSubstring("stub"));
  gpu.results["init"] = CUDA_ERROR_OUT_OF_MEMORY;
  cuda::list_devices(*gpu.driver(), &why);
  CHECK_THAT(why, ContainsSubstring("does not start") && ContainsSubstring("CUDA_ERROR_OUT_OF_MEMORY"));
  CHECK_THROWS_MATCHES(cuda::make_device(gpu.driver(), 0, nullptr), Error, MessageMatches(ContainsSubstring("cuda:0")));
}

TEST_CASE("a GPU that does not exist is refused with its number") {
  FakeGpu gpu;
  gpu.devices = 2;
  CHECK_THROWS_MATCHES(cuda::make_device(gpu.driver(), 2, nullptr), Error,
                       MessageMatches(ContainsSubstring("cuda:2") && ContainsSubstring("2 GPUs")));
  CHECK_THROWS_AS(cuda::make_device(gpu.driver(), -1, nullptr), Error);
  gpu.results["context_retain"] = CUDA_ERROR_OUT_OF_MEMORY;
  CHECK_THROWS_MATCHES(cuda::make_device(gpu.driver(), 0, nullptr), Error,
                       MessageMatches(ContainsSubstring("cannot be opened")));
}

TEST_CASE("memory is allocated, filled, copied and freed") {
  Opened opened;
  const int before = opened.gpu.live_handles;
  const DeviceAddress address = opened.device->allocate(64, "x");
  CHECK(address % 256 == 0);
  opened.device->fill(address, std::byte{0xff}, 64);
  const std::vector<std::byte> sent(16, std::byte{7});
  opened.device->upload(address + 16, sent);
  std::vector<std::byte> received(64);
  opened.device->download(received, address);
  CHECK(received[0] == std::byte{0xff});
  CHECK(received[16] == std::byte{7});
  CHECK(received[31] == std::byte{7});
  CHECK(received[32] == std::byte{0xff});
  opened.device->free(address);
  CHECK(opened.gpu.live_handles == before);
}

TEST_CASE("memory is copied and digested on the device") {
  Opened opened;
  const DeviceAddress from = opened.device->allocate(64, "x");
  const DeviceAddress to = opened.device->allocate(64, "y");
  std::vector<std::byte> content(61, std::byte{9});
  content[60] = std::byte{4};
  opened.device->upload(from, content);
  opened.device->copy(to, from, content.size());
  std::vector<std::byte> received(content.size());
  opened.device->download(received, to);
  CHECK(received == content);
  CHECK(opened.device->digest(to, content.size()) == digest_of(content, digest_key()));
  CHECK(opened.device->digest(to, 5) == digest_of(std::span(content).first(5), digest_key()));
  Readback wanted{{{to, content.size()}, {from, 5}}, {{from + 8, 16}, {to, 3}}};
  opened.device->read(wanted);
  CHECK(opened.gpu.launches.size() == 3);  // One for each time.
  CHECK(wanted.digests ==
        std::vector{digest_of(content, digest_key()), digest_of(std::span(content).first(5), digest_key())});
  CHECK(wanted.bytes == std::vector<std::byte>(19, std::byte{9}));
}

TEST_CASE("more ranges than one launch takes are digested by several") {
  Opened opened;
  const DeviceAddress at = opened.device->allocate(8 * (cuda::kDigestRanges + 1), "x");
  Readback wanted;
  for (std::size_t i = 0; i <= cuda::kDigestRanges; ++i) {
    opened.device->fill(at + 8 * i, static_cast<std::byte>(i), 8);
    wanted.digested.push_back({at + 8 * i, 8});
  }
  opened.device->read(wanted);
  CHECK(opened.gpu.launches.size() == 2);
  for (std::size_t i = 0; i <= cuda::kDigestRanges; ++i)
    CHECK(wanted.digests.at(i) == digest_of(std::vector<std::byte>(8, static_cast<std::byte>(i)), digest_key()));
}

TEST_CASE("an empty tensor has an address too") {
  Opened opened;
  CHECK(opened.device->allocate(0, "nothing") != 0);
  opened.device->upload(0, {});
  opened.device->download({}, 0);
}

TEST_CASE("exhausted memory is a machine error that names the buffer") {
  Opened opened;
  CHECK_THROWS_MATCHES(opened.device->allocate(std::size_t{2} << 30, "k cache"), Error,
                       MessageMatches(ContainsSubstring("out of memory") && ContainsSubstring("k cache")));
}

TEST_CASE("closing a device releases everything, also memory that was not freed") {
  FakeGpu gpu;
  {
    const auto device = cuda::make_device(gpu.driver(), 0, nullptr);
    device->allocate(64, "x");
    device->allocate(64, "y");
    CHECK(gpu.live_handles > 2);
  }
  CHECK(gpu.live_handles == 0);
}

TEST_CASE("a kernel sees tensors, workspaces and numbers in the plan's order, and null for an absent workspace") {
  Opened opened;
  const DeviceAddress x = opened.device->allocate(4, "x");
  const DeviceAddress scratch = opened.device->allocate(4, "scratch");
  opened.gpu.kernels["k"].parameter_bytes = {8, 4, 8, 8};
  bool called = false;
  opened.gpu.kernels["k"].body = [&](void** parameters) {
    called = true;
    CHECK(*static_cast<DeviceAddress*>(parameters[0]) == scratch);
    CHECK(*static_cast<std::int32_t*>(parameters[1]) == -7);
    CHECK(*static_cast<DeviceAddress*>(parameters[2]) == x);
    CHECK(*static_cast<DeviceAddress*>(parameters[3]) == 0);
  };
  Plan plan = one_launch();
  plan.tensors = {{"x", DType::f32, 4, true}};
  plan.workspaces = {{"scratch", 4, false}, {"unused", 0, false}};
  plan.launches[0].arguments = {{Argument::Kind::workspace, 0},
                                Argument::of_int(-7),
                                {Argument::Kind::tensor, 0},
                                {Argument::Kind::workspace, 1}};
  CHECK_FALSE(opened.run(plan, {{x}, {scratch, 0x5000}}));
  CHECK(called);
}

TEST_CASE("grid, block, cluster and programmatic launch reach the driver") {
  Opened opened;
  Plan plan = one_launch();
  plan.launches.push_back(plan.launches[0]);
  plan.launches[1].grid = {4, 5, 6};
  plan.launches[1].block = {128, 2, 1};
  plan.launches[1].cluster = {2, 1, 1};
  plan.launches[1].programmatic = true;
  CHECK_FALSE(opened.run(plan));
  REQUIRE(opened.gpu.launches.size() == 2);
  CHECK(opened.gpu.launches[0].attributes.empty());
  const FakeGpu::Seen& second = opened.gpu.launches[1];
  CHECK(second.config.gridDimZ == 6);
  CHECK(second.config.blockDimX == 128);
  const CUlaunchAttribute* cluster = attribute(second, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  REQUIRE(cluster != nullptr);
  CHECK(cluster->value.clusterDim.x == 2);
  const CUlaunchAttribute* programmatic = attribute(second, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  REQUIRE(programmatic != nullptr);
  CHECK(programmatic->value.programmaticStreamSerializationAllowed == 1);
}

TEST_CASE("a kernel that waits for the whole grid is launched cooperatively, and no other") {
  Opened opened;
  Binary binary;
  std::optional<Failure> failure;
  const auto launched_cooperatively = [&](bool cooperative) {
    binary.build.kernels["k"].cooperative = cooperative;
    opened.module = opened.device->load(binary, failure);
    CHECK_FALSE(opened.run(one_launch()));
    const CUlaunchAttribute* found = attribute(opened.gpu.launches.back(), CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    return found != nullptr && found->value.cooperative == 1;
  };
  CHECK(launched_cooperatively(true));
  CHECK_FALSE(launched_cooperatively(false));
}

TEST_CASE("dynamic shared memory and large clusters are opted into, for the largest launch of a kernel") {
  Opened opened;
  Plan plan = one_launch();
  plan.launches.push_back(plan.launches[0]);
  plan.launches[0].dynamic_smem_bytes = 200000;
  plan.launches[1].dynamic_smem_bytes = 1000;
  plan.launches[1].cluster = {16, 1, 1};
  CHECK_FALSE(opened.run(plan));
  const std::vector<std::pair<CUfunction_attribute, int>> expected = {
      {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000},
      {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000},
      {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1}};
  CHECK(opened.gpu.function_attributes == expected);
  CHECK(opened.gpu.launches[0].config.sharedMemBytes == 200000);
}

TEST_CASE("before each call only the workspaces marked as zeroed are zeroed") {
  Opened opened;
  const DeviceAddress sum = opened.device->allocate(8, "sum");
  const DeviceAddress rest = opened.device->allocate(8, "rest");
  opened.device->fill(sum, std::byte{1}, 8);
  opened.device->fill(rest, std::byte{1}, 8);
  Plan plan = one_launch();
  plan.workspaces = {{"sum", 8, true}, {"rest", 8, false}};
  CHECK_FALSE(opened.run(plan, {{}, {sum, rest}}));
  std::vector<std::byte> content(8);
  opened.device->download(content, sum);
  CHECK(content[7] == std::byte{0});
  opened.device->download(content, rest);
  CHECK(content[7] == std::byte{1});
}

TEST_CASE("tensor maps are encoded over their tensor or workspace and passed by value") {
  Opened opened;
  opened.gpu.kernels["k"].parameter_bytes = {128};
  CUtensorMap seen{};
  opened.gpu.kernels["k"].body = [&](void** parameters) { std::memcpy(&seen, parameters[0], sizeof seen); };
  Plan plan = one_launch();
  plan.workspaces = {{"v_t", 4096, false}};
  plan.tensor_maps = {{"v_map", {Argument::Kind::workspace, 0}, DType::e4m3, {64, 64}, {64}, {64, 32}, 64}};
  plan.launches[0].arguments = {{Argument::Kind::tensor_map, 0}};
  CHECK_FALSE(opened.run(plan, {{}, {0x4000}}));
  CHECK(seen.opaque[0] == 0x4000);
  CHECK(seen.opaque[1] == 2);
  CHECK(seen.opaque[2] == CU_TENSOR_MAP_DATA_TYPE_UINT8);
  CHECK(seen.opaque[3] == CU_TENSOR_MAP_SWIZZLE_64B);
}

TEST_CASE("an invalid tensor map is the candidate's failure and is named") {
  Opened opened;
  Plan plan = one_launch();
  plan.workspaces = {{"w", 4096, false}};
  plan.launches[0].arguments = {{Argument::Kind::tensor_map, 0}};
  const TensorMap sound{"w_map", {Argument::Kind::workspace, 0}, DType::f16, {64, 64}, {128}, {64, 32}, 128};
  const auto failure_of = [&](const TensorMap& map) {
    plan.tensor_maps = {map};
    const Failure failure = opened.failure_of(plan, {{}, {0x4000}});
    CHECK(failure.verdict == Verdict::launch_failed);
    CHECK_FALSE(failure.device_lost);
    return failure.reason;
  };
  TensorMap map = sound;
  map.strides_bytes.clear();
  CHECK_THAT(failure_of(map), ContainsSubstring("w_map") && ContainsSubstring("stride"));
  map = sound;
  map.box.pop_back();
  CHECK_THAT(failure_of(map), ContainsSubstring("box"));
  map = sound;
  map.swizzle_bytes = 48;
  CHECK_THAT(failure_of(map), ContainsSubstring("swizzle"));
  map = sound;
  map.dims.assign(6, 8);
  CHECK_THAT(failure_of(map), ContainsSubstring("dims"));
  opened.gpu.results["encode_tensor_map"] = CUDA_ERROR_INVALID_VALUE;
  CHECK_THAT(failure_of(sound), ContainsSubstring("64x32") && ContainsSubstring("CUDA_ERROR_INVALID_VALUE"));
}

TEST_CASE("variables of the program are filled before its kernels run, inputs on the device") {
  Opened opened;
  opened.gpu.variables = {{"d_x", std::vector<std::byte>(8)}, {"rows", std::vector<std::byte>(4)}};
  std::vector<std::byte> seen;
  opened.gpu.kernels["k"].body = [&](void**) { seen = opened.gpu.variables["d_x"]; };
  Plan plan = one_launch();
  plan.tensors = {{"x", DType::f32, 8}};
  plan.constants = {{"d_x", {Argument::Kind::tensor, 0}}, {"rows", Argument::of_int(7)}};
  const DeviceAddress x = opened.device->allocate(8, "x");
  for (const std::byte content : {std::byte{3}, std::byte{4}}) {
    opened.device->fill(x, content, 8);
    CHECK_FALSE(opened.run(plan, {{x}, {}}));
    CHECK(seen == std::vector<std::byte>(8, content));
  }
  CHECK(opened.gpu.variables["rows"][0] == std::byte{7});
}

TEST_CASE("a variable that is missing or of another size is the candidate's failure") {
  Opened opened;
  opened.gpu.variables = {{"d_x", std::vector<std::byte>(16)}};
  Plan plan = one_launch();
  plan.tensors = {{"x", DType::f32, 8}};
  plan.constants = {{"d_x", {Argument::Kind::tensor, 0}}};
  const Failure size = opened.failure_of(plan, {{0x1000}, {}});
  CHECK(size.verdict == Verdict::launch_failed);
  CHECK(size.reason == "variable d_x has 16 bytes, x has 8");
  plan.constants[0].symbol = "d_y";
  CHECK(opened.failure_of(plan, {{0x1000}, {}}).reason == "the program has no variable d_y");
  plan.constants = {{"d_x", Argument::of_int(1)}};
  CHECK(opened.failure_of(plan, {{0x1000}, {}}).reason == "variable d_x has 16 bytes, the value that fills it has 4");
}

TEST_CASE("a variable that a kernel has changed is its failure, in a call and while it is timed") {
  Opened opened;
  opened.gpu.variables = {{"table", std::vector<std::byte>(12)}};
  Binary binary;
  binary.ptx = ".global .align 4 .b8 table[12];\n";
  std::optional<Failure> failure;
  opened.module = opened.device->load(binary, failure);
  REQUIRE_FALSE(failure);
  CHECK_FALSE(opened.run(one_launch()));
  opened.gpu.kernels["k"].body = [&](void**) { opened.gpu.variables["table"][9] ^= std::byte{1}; };
  const Failure changed = opened.failure_of(one_launch());
  CHECK(changed.verdict == Verdict::crashed);
  CHECK_THAT(changed.reason, ContainsSubstring("variable table was written"));
  int calls = 0;
  opened.gpu.kernels["k"].body = [&](void**) { opened.gpu.variables["table"][9] = std::byte(++calls == 1 ? 5 : 6); };
  const Buffers buffers;
  opened.device->time(*opened.module, one_launch(), {&buffers, 1}, {}, failure);
  REQUIRE(failure);
  CHECK_THAT(failure->reason, ContainsSubstring("variable table was written"));
}

TEST_CASE("variables are filled once for all timed calls") {
  Opened opened;
  opened.gpu.variables = {{"rows", std::vector<std::byte>(4)}};
  int filled = 0, calls = 0;
  opened.gpu.kernels["k"].body = [&](void**) {
    std::byte& rows = opened.gpu.variables["rows"][0];
    filled += rows == std::byte{9} ? 1 : 0;
    ++calls;
    rows = std::byte{0};
  };
  Plan plan = one_launch();
  plan.constants = {{"rows", Argument::of_int(9)}};
  const std::vector<Buffers> rotation(2);
  std::optional<Failure> failure;
  opened.device->time(*opened.module, plan, rotation, {}, failure);
  REQUIRE_FALSE(failure);
  CHECK(calls > 2);
  CHECK(filled == 1);
}

TEST_CASE("a plan that does not fit the kernel's signature is refused") {
  Opened opened;
  opened.gpu.kernels["k"].parameter_bytes = {8, 4};
  Plan plan = one_launch();
  const auto reason_of = [&](std::vector<Argument> arguments) {
    plan.launches[0].arguments = std::move(arguments);
    const std::optional<Failure> failure = opened.run(plan, {{0x1000}, {}});
    return failure ? failure->reason : "";
  };
  const Argument pointer{Argument::Kind::tensor, 0}, number = Argument::of_int(3);
  CHECK(reason_of({pointer, number}) == "");
  CHECK_THAT(reason_of({pointer}), ContainsSubstring("more than the 1"));
  CHECK_THAT(reason_of({pointer, number, number}), ContainsSubstring("takes 2 arguments"));
  CHECK_THAT(reason_of({number, number}), ContainsSubstring("argument 0 has 8 bytes"));
}

TEST_CASE("a kernel that is not in the program is the candidate's failure") {
  Opened opened;
  Plan plan = one_launch();
  plan.launches[0].kernel = "other";
  const Failure failure = opened.failure_of(plan);
  CHECK(failure.verdict == Verdict::launch_failed);
  CHECK_THAT(failure.reason, ContainsSubstring("no kernel other"));
}

TEST_CASE("a refused launch leaves the device usable") {
  Opened opened;
  opened.gpu.results["launch"] = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  const Failure failure = opened.failure_of(one_launch());
  CHECK(failure.verdict == Verdict::launch_failed);
  CHECK_FALSE(failure.device_lost);
  CHECK_THAT(failure.reason,
             ContainsSubstring("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES") && ContainsSubstring("block 1x1x1"));
  opened.gpu.results.clear();
  CHECK_FALSE(opened.run(one_launch()));
}

TEST_CASE("shared memory beyond the limit is a refused launch") {
  Opened opened;
  opened.gpu.results["function_set_attribute"] = CUDA_ERROR_INVALID_VALUE;
  Plan plan = one_launch();
  plan.launches[0].dynamic_smem_bytes = 300000;
  const Failure failure = opened.failure_of(plan);
  CHECK(failure.verdict == Verdict::launch_failed);
  CHECK_THAT(failure.reason, ContainsSubstring("300000 bytes of dynamic shared memory"));
}

TEST_CASE("an illegal address crashes the candidate and loses the device") {
  Opened opened;
  opened.gpu.kernels["k"].fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  const Failure failure = opened.failure_of(one_launch());
  CHECK(failure.verdict == Verdict::crashed);
  CHECK(failure.device_lost);
  CHECK_THAT(failure.reason, ContainsSubstring("CUDA_ERROR_ILLEGAL_ADDRESS"));
  // The context is poisoned, and the device does not hide it.
  CHECK(opened.run(one_launch()));
  CHECK_THROWS_AS(opened.device->fill(0x1000, std::byte{0}, 4), Error);
}

TEST_CASE("a fault of an earlier kernel is reported even if the next launch is refused") {
  Opened opened;
  opened.gpu.kernels["k"].fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  Plan plan = one_launch();
  plan.launches.push_back(plan.launches[0]);
  opened.gpu.kernels["k"].body = [&](void**) { opened.gpu.results["launch"] = CUDA_ERROR_INVALID_VALUE; };
  const Failure failure = opened.failure_of(plan);
  CHECK(failure.device_lost);
}

TEST_CASE("exceeding the driver's time limit is a time-out") {
  Opened opened;
  opened.gpu.kernels["k"].fault = CUDA_ERROR_LAUNCH_TIMEOUT;
  const Failure failure = opened.failure_of(one_launch());
  CHECK(failure.verdict == Verdict::timed_out);
  CHECK(failure.device_lost);
}

TEST_CASE("a hardware error of the GPU is never the candidate's failure") {
  Opened opened;
  opened.gpu.kernels["k"].fault = CUDA_ERROR_ECC_UNCORRECTABLE;
  CHECK_THROWS_MATCHES(opened.run(one_launch()), Error,
                       MessageMatches(ContainsSubstring("CUDA_ERROR_ECC_UNCORRECTABLE")));
}

TEST_CASE("a cubin that does not load is a failure that names both architectures") {
  Opened opened;
  opened.gpu.results["module_load"] = CUDA_ERROR_NO_BINARY_FOR_GPU;
  Binary binary;
  binary.arch = "sm_100a";
  std::optional<Failure> failure;
  CHECK(opened.device->load(binary, failure) == nullptr);
  REQUIRE(failure);
  CHECK_THAT(failure->reason, ContainsSubstring("sm_100a") && ContainsSubstring("sm_90a"));
}
