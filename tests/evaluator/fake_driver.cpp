#include "tests/evaluator/fake_driver.h"

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "evaluator/cuda/digest_kernel.h"
#include "evaluator/cuda/write_kernel.h"
#include "evaluator/device/digest.h"

namespace evo::test {
namespace {

/// Work in a stream or graph: what it does and how long it takes.
struct Operation {
  std::function<void()> act;
  double us = 0;
};

/// What the driver's opaque handles point at. The driver has one stream and one device here.
struct State {
  FakeGpu* gpu = nullptr;
  bool capturing = false;
  CUresult pending = CUDA_SUCCESS;  ///< A fault that the next wait reports.
  CUresult sticky = CUDA_SUCCESS;   ///< The context is dead: every call gives this.
  std::size_t allocated = 0;
  std::map<CUdeviceptr, std::size_t> memory;
  std::vector<Operation> captured;
  std::map<CUgraph, std::vector<Operation>> graphs;
  std::map<CUgraphExec, std::vector<Operation>> executables;
  std::map<CUevent, double> events;
  std::map<CUfunction, std::string> functions;
  std::uintptr_t next_handle = 1;
};
State state;

FakeGpu& gpu() {
  return *state.gpu;
}

template <typename Handle>
Handle new_handle() {
  ++gpu().live_handles;
  return reinterpret_cast<Handle>(state.next_handle++);
}

CUresult released() {
  return --gpu().live_handles, state.sticky;
}

/// The result that the test has set for this function, or that of the poisoned context.
CUresult ordered(const char* function) {
  if (state.sticky != CUDA_SUCCESS) return state.sticky;
  const auto found = gpu().results.find(function);
  return found == gpu().results.end() ? CUDA_SUCCESS : found->second;
}

void perform(const Operation& operation) {
  operation.act();
  gpu().now_us += operation.us;
}

CUresult submit(Operation operation) {
  if (state.capturing) {
    state.captured.push_back(std::move(operation));
  } else {
    perform(operation);
  }
  return CUDA_SUCCESS;
}

CUresult name_of_error(CUresult result, const char** name) {
  static const std::map<CUresult, const char*> names = {
      {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
      {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
      {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT"},
      {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE"},
      {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}};
  const auto found = names.find(result);
  if (found == names.end()) return CUDA_ERROR_INVALID_VALUE;
  *name = found->second;
  return CUDA_SUCCESS;
}

CUresult launch(const CUlaunchConfig* config, CUfunction function, void** parameters, void**) {
  if (const CUresult result = ordered("launch"); result != CUDA_SUCCESS) return result;
  FakeGpu::Seen seen{state.functions.at(function), *config, {}, state.capturing};
  seen.attributes.assign(config->attrs, config->attrs + config->numAttrs);
  gpu().launches.push_back(seen);
  const FakeGpu::Kernel& kernel = gpu().kernels.at(seen.kernel);
  // The driver copies the parameters at launch, so the caller may reuse its own.
  auto values = std::make_shared<std::vector<std::vector<std::byte>>>();
  for (std::size_t i = 0; i < kernel.parameter_bytes.size(); ++i) {
    const auto* begin = static_cast<const std::byte*>(parameters[i]);
    values->emplace_back(begin, begin + kernel.parameter_bytes[i]);
  }
  const double latency_us = state.capturing ? 0 : gpu().launch_latency_us;
  return submit({[&kernel, values] {
                   std::vector<void*> pointers;
                   for (std::vector<std::byte>& value : *values) pointers.push_back(value.data());
                   kernel.body(pointers.data());
                   if (kernel.fault != CUDA_SUCCESS) state.pending = kernel.fault;
                 },
                 kernel.us + latency_us});
}

/// The kernel of evaluator/cuda/digest_kernel.cpp. Ranges beyond the launch's are empty, and add nothing.
void add_digests(void** parameters) {
  cuda::DigestedRanges table;
  std::uint64_t key = 0, results = 0;
  std::memcpy(&table, parameters[0], sizeof(table));
  std::memcpy(&key, parameters[1], sizeof(key));
  std::memcpy(&results, parameters[2], sizeof(results));
  for (const DeviceRange& range : table.ranges) {
    if (range.bytes > 0)
      *reinterpret_cast<std::uint64_t*>(results) +=
          digest_of({reinterpret_cast<const std::byte*>(range.from), range.bytes}, key);
    results += sizeof(std::uint64_t);
  }
}

/// The kernel of evaluator/cuda/write_kernel.cpp.
void do_writes(void** parameters) {
  cuda::WriteTable table;
  std::memcpy(&table, parameters[0], sizeof(table));
  for (const cuda::WriteTable::Entry& one : table.entries) {
    auto* to = reinterpret_cast<std::byte*>(one.to);
    if (one.from != 0) {
      std::memmove(to, reinterpret_cast<const void*>(one.from), one.bytes);
      for (std::uint64_t i = 0; i < one.bytes; ++i) to[i] |= static_cast<std::byte>(one.value & 0xff);
    } else if (one.bytes > 0) {
      std::memset(to, static_cast<int>(one.value & 0xff), one.bytes);
    }
  }
}

CUresult allocate(CUdeviceptr* address, std::size_t bytes) {
  if (const CUresult result = ordered("memory_allocate"); result != CUDA_SUCCESS) return result;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (state.allocated + bytes > gpu().memory_limit) return CUDA_ERROR_OUT_OF_MEMORY;
  state.allocated += bytes;
  *address = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  state.memory[*address] = bytes;
  ++gpu().live_handles;
  return CUDA_SUCCESS;
}

CUresult free_memory(CUdeviceptr address) {
  const auto found = state.memory.find(address);
  if (found == state.memory.end()) return CUDA_ERROR_INVALID_VALUE;
  state.allocated -= found->second;
  state.memory.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return released();
}

constexpr std::size_t kReadable = std::size_t{64} << 20;

CUresult set_memory(CUdeviceptr address, unsigned char value, std::size_t bytes, CUstream) {
  if (const CUresult result = ordered("memory_set"); result != CUDA_SUCCESS) return result;
  if (!state.capturing) gpu().memsets.push_back(bytes);
  // The buffer that flushes L2 is larger than any that a test reads, and is set before each cold launch.
  if (bytes > kReadable) return submit({[] {}, 1});
  return submit({[=] { std::memset(reinterpret_cast<void*>(address), value, bytes); }, 1});
}

CUresult synchronize(CUstream) {
  if (state.sticky == CUDA_SUCCESS) state.sticky = state.pending;
  return ordered("stream_synchronize");
}

CUresult end_capture(CUstream, CUgraph* graph) {
  state.capturing = false;
  *graph = new_handle<CUgraph>();
  state.graphs[*graph] = std::exchange(state.captured, {});
  return ordered("capture_end");
}

CUresult instantiate(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  if (const CUresult result = ordered("graph_instantiate"); result != CUDA_SUCCESS) return result;
  *executable = new_handle<CUgraphExec>();
  state.executables[*executable] = state.graphs.at(graph);
  gpu().graph_sizes.push_back(state.graphs.at(graph).size());
  return CUDA_SUCCESS;
}

CUresult replay(CUgraphExec executable, CUstream) {
  if (const CUresult result = ordered("graph_launch"); result != CUDA_SUCCESS) return result;
  ++gpu().replays;
  gpu().on_replay();
  for (const Operation& operation : state.executables.at(executable)) perform(operation);
  return CUDA_SUCCESS;
}

CUresult find_function(CUfunction* function, CUmodule, const char* name) {
  if (const CUresult result = ordered("module_function"); result != CUDA_SUCCESS) return result;
  if (!gpu().kernels.contains(name)) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(state.next_handle++);
  state.functions[*function] = name;
  return CUDA_SUCCESS;
}

CUresult parameter_of(CUfunction function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  const std::vector<std::size_t>& sizes = gpu().kernels.at(state.functions.at(function)).parameter_bytes;
  if (index >= sizes.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = 0;
  *bytes = sizes[index];
  return CUDA_SUCCESS;
}

void fill_devices(cuda::Driver& driver) {
  driver.init = [](unsigned) { return ordered("init"); };
  driver.driver_version = [](int* version) { return *version = 13000, CUDA_SUCCESS; };
  driver.error_name = name_of_error;
  driver.error_string = [](CUresult, const char** text) { return *text = "in the words of the fake", CUDA_SUCCESS; };
  driver.device_count = [](int* count) { return *count = gpu().devices, ordered("device_count"); };
  driver.device_get = [](CUdevice* device, int ordinal) { return *device = ordinal, ordered("device_get"); };
  driver.device_name = [](char* name, int size, CUdevice) {
    std::strncpy(name, "Fake GPU", static_cast<std::size_t>(size));
    return CUDA_SUCCESS;
  };
  driver.device_uuid = [](CUuuid* uuid, CUdevice) {
    for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(0xf0 + i);
    return CUDA_SUCCESS;
  };
  driver.device_attribute = [](int* value, CUdevice_attribute which, CUdevice) {
    *value = gpu().attributes[which];
    return ordered("device_attribute");
  };
  driver.device_total_memory = [](std::size_t* bytes, CUdevice) { return *bytes = gpu().memory_limit, CUDA_SUCCESS; };
  driver.context_retain = [](CUcontext* context, CUdevice) {
    if (const CUresult result = ordered("context_retain"); result != CUDA_SUCCESS) return result;
    return *context = new_handle<CUcontext>(), CUDA_SUCCESS;
  };
  driver.context_release = [](CUdevice) { return released(); };
  driver.context_set_current = [](CUcontext) { return ordered("context_set_current"); };
}

void fill_memory_and_code(cuda::Driver& driver) {
  driver.memory_allocate = allocate;
  driver.memory_free = free_memory;
  driver.host_allocate = [](void** memory, std::size_t bytes, unsigned) {
    if (const CUresult result = ordered("host_allocate"); result != CUDA_SUCCESS) return result;
    *memory = std::malloc(bytes);
    ++gpu().live_handles;
    return CUDA_SUCCESS;
  };
  driver.host_free = [](void* memory) {
    std::free(memory);
    return released();
  };
  driver.memory_set = set_memory;
  driver.copy_to_device = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return ordered("copy_to_device");
  };
  driver.copy_to_host = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return ordered("copy_to_host");
  };
  driver.copy_on_device = [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return ordered("copy_on_device");
  };
  driver.module_load = [](CUmodule* module, const void*) {
    if (const CUresult result = ordered("module_load"); result != CUDA_SUCCESS) return result;
    return *module = new_handle<CUmodule>(), CUDA_SUCCESS;
  };
  driver.module_unload = [](CUmodule) { return released(); };
  driver.module_function = find_function;
  driver.module_variable = [](CUdeviceptr* address, std::size_t* bytes, CUmodule, const char* name) {
    const auto found = gpu().variables.find(name);
    if (found == gpu().variables.end()) return CUDA_ERROR_NOT_FOUND;
    *address = reinterpret_cast<CUdeviceptr>(found->second.data());
    *bytes = found->second.size();
    return ordered("module_variable");
  };
  driver.function_set_attribute = [](CUfunction, CUfunction_attribute which, int value) {
    gpu().function_attributes.emplace_back(which, value);
    return ordered("function_set_attribute");
  };
  driver.function_parameter = parameter_of;
  driver.launch = launch;
  driver.encode_tensor_map = [](CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                                CUtensorMapInterleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
    map->opaque[0] = reinterpret_cast<cuuint64_t>(address);
    map->opaque[1] = rank;
    map->opaque[2] = type;
    map->opaque[3] = swizzle;
    return ordered("encode_tensor_map");
  };
}

void fill_streams_and_graphs(cuda::Driver& driver) {
  driver.stream_create = [](CUstream* stream, unsigned) { return *stream = new_handle<CUstream>(), CUDA_SUCCESS; };
  driver.stream_destroy = [](CUstream) { return released(); };
  driver.stream_synchronize = synchronize;
  driver.capture_begin = [](CUstream, CUstreamCaptureMode) {
    state.capturing = true;
    return ordered("capture_begin");
  };
  driver.capture_end = end_capture;
  driver.graph_instantiate = instantiate;
  driver.graph_launch = replay;
  driver.graph_destroy = [](CUgraph) { return released(); };
  driver.graph_exec_destroy = [](CUgraphExec) { return released(); };
  driver.event_create = [](CUevent* event, unsigned) { return *event = new_handle<CUevent>(), CUDA_SUCCESS; };
  driver.event_destroy = [](CUevent) { return released(); };
  driver.event_record = [](CUevent event, CUstream) {
    return state.events[event] = gpu().now_us, ordered("event_record");
  };
  driver.event_elapsed = [](float* milliseconds, CUevent begin, CUevent end) {
    *milliseconds = static_cast<float>((state.events.at(end) - state.events.at(begin)) * 1e-3);
    return ordered("event_elapsed");
  };
}

}  // namespace

FakeGpu::FakeGpu() {
  assert(state.gpu == nullptr);
  state.gpu = this;
  attributes = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
                {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
                {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
                {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
                {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
                {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
                {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
                {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 60 << 20},
                {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
                {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000},
                {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144}};
  kernels["evo_digest"] = {.parameter_bytes = {sizeof(cuda::DigestedRanges), 8, 8}, .body = add_digests};
  kernels["evo_write"] = {.parameter_bytes = {sizeof(cuda::WriteTable)}, .body = do_writes};
}

FakeGpu::~FakeGpu() {
  for (const auto& [address, bytes] : state.memory) std::free(reinterpret_cast<void*>(address));
  state = State{};
}

std::shared_ptr<const cuda::Driver> FakeGpu::driver() {
  auto driver = std::make_shared<cuda::Driver>();
  fill_devices(*driver);
  fill_memory_and_code(*driver);
  fill_streams_and_graphs(*driver);
  return driver;
}

}  // namespace evo::test
