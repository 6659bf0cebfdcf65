#include "evaluator/cuda/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "evaluator/compile/writable_globals.h"
#include "evaluator/cuda/bound_call.h"
#include "evaluator/cuda/device_query.h"
#include "evaluator/cuda/digest_kernel.h"
#include "evaluator/cuda/driver_device.h"
#include "evaluator/cuda/handles.h"
#include "evaluator/cuda/pinned_buffer.h"
#include "evaluator/cuda/range_profiler.h"
#include "evaluator/cuda/timing.h"
#include "evaluator/cuda/write_kernel.h"
#include "evaluator/device/digest.h"

namespace evo::cuda {
namespace {

/// At least twice the L2 cache is written between cold launches: what was in it is gone whatever it replaces
/// first.
constexpr std::size_t kFlushFactor = 2;
constexpr std::size_t kMinFlushBytes = std::size_t{64} << 20;
constexpr std::size_t kPinnedBytes = std::size_t{64} << 20;

/// Its variables outlive a launch. The host fills some before it; no kernel may change them.
struct WatchedVariables {
  std::vector<std::string> names;  ///< In PTX.
  std::vector<DeviceRange> ranges;
};

WatchedVariables find_variables(const Driver& driver, CUmodule module, const std::string& ptx) {
  constexpr DeviceAddress kWord = 8;  // Digests begin at whole words.
  WatchedVariables found;
  for (const std::string& name : device_variables(ptx)) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    if (driver.module_variable(&address, &bytes, module, name.c_str()) != CUDA_SUCCESS || bytes == 0) continue;
    found.names.push_back(name);
    found.ranges.push_back({address - address % kWord, bytes + address % kWord});
  }
  return found;
}

class LoadedModule final : public Module {
 public:
  LoadedModule(OwnedModule module, Build build, WatchedVariables variables)
      : module_(std::move(module)), build_(std::move(build)), variables_(std::move(variables)) {}
  CUmodule get() const { return module_.get(); }
  const Build& build() const { return build_; }
  const WatchedVariables& variables() const { return variables_; }

 private:
  OwnedModule module_;
  Build build_;
  WatchedVariables variables_;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(std::shared_ptr<const Driver> driver, DeviceInfo info, CUdevice device, int ordinal,
             std::unique_ptr<GpuMonitor> monitor, std::function<double()> seconds, CuptiLoader load_cupti)
      : driver_(std::move(driver)),
        info_(std::move(info)),
        ordinal_(ordinal),
        monitor_(std::move(monitor)),
        seconds_(std::move(seconds)),
        load_cupti_(std::move(load_cupti)),
        context_(*driver_, device, info_.id),
        stream_(make_stream(*driver_)),
        pinned_(*driver_) {}

  const DeviceInfo& info() const override { return info_; }

  DeviceAddress allocate(std::size_t bytes, const std::string& name) override {
    OwnedMemory memory = allocate_memory(bytes, name);
    const DeviceAddress address = memory.get();
    memory_.emplace(address, std::move(memory));
    return address;
  }

  void free(DeviceAddress address) override { memory_.erase(address); }

  void upload(DeviceAddress to, std::span<const std::byte> from) override {
    if (from.empty()) return;
    finish(driver_->copy_to_device(to, from.data(), from.size(), stream_.get()), "copying to the GPU");
  }
  void download(std::span<std::byte> to, DeviceAddress from) override {
    if (to.empty()) return;
    finish(driver_->copy_to_host(to.data(), from, to.size(), stream_.get()), "copying from the GPU");
  }
  void fill(DeviceAddress to, std::byte value, std::size_t bytes) override {
    if (bytes == 0) return;
    require(driver_->memory_set(to, std::to_integer<unsigned char>(value), bytes, stream_.get()), "filling memory");
  }
  void copy(DeviceAddress to, DeviceAddress from, std::size_t bytes) override {
    if (bytes == 0) return;
    require(driver_->copy_on_device(to, from, bytes, stream_.get()), "copying on the GPU");
  }
  void write(std::span<const DeviceWrite> writes) override {
    if (!write_kernel_) write_kernel_.emplace(*driver_);
    (*write_kernel_)(writes, stream_.get());
  }
  std::uint64_t digest(DeviceAddress from, std::size_t bytes) override {
    Readback wanted;
    wanted.digested.push_back({from, bytes});
    read(wanted);
    return wanted.digests.front();
  }
  void read(Readback& wanted) override {
    make_room(wanted);
    finish(start_reading(wanted), "reading memory");
    take(wanted);
  }

  std::unique_ptr<Module> load(const Binary& binary, std::optional<Failure>& failure) override {
    failure.reset();
    CUmodule module = nullptr;
    const CUresult result = driver_->module_load(&module, binary.cubin.data());
    if (result == CUDA_SUCCESS) {
      OwnedModule owned(*driver_, module);
      WatchedVariables variables = find_variables(*driver_, module, binary.ptx);
      return std::make_unique<LoadedModule>(std::move(owned), binary.build, std::move(variables));
    }
    failure = candidate_failure(*driver_, result, fmt::format("loading a cubin for {} on {}", binary.arch, info_.arch));
    return nullptr;
  }

  std::optional<Failure> run(const Module& module, const Plan& plan, const Buffers& buffers) override {
    Readback nothing;
    return run_and_read(module, plan, buffers, nothing);
  }

  std::optional<Failure> run_and_read(const Module& module, const Plan& plan, const Buffers& buffers,
                                      Readback& wanted) override {
    std::optional<Failure> failure;
    const auto& loaded = dynamic_cast<const LoadedModule&>(module);
    const BoundCall call(*driver_, loaded.get(), loaded.build(), plan, buffers, failure);
    if (!failure) failure = call.fill_constants(stream_.get());
    std::vector<std::uint64_t> variables;
    if (!failure) variables = digests_of(loaded.variables());
    make_room(wanted);
    if (!failure) failure = call.enqueue(stream_.get());
    // A fault of the kernel may already meet the reads.
    const CUresult started = failure ? CUDA_SUCCESS : start_reading(wanted);
    settle(failure);
    if (failure) return failure;
    require(started, "reading memory");
    take(wanted);
    return changed(loaded.variables(), variables);
  }

  Timing time(const Module& module, const Plan& plan, std::span<const Buffers> rotation, const TimingRequest& request,
              std::optional<Failure>& failure) override {
    const std::vector<BoundCall> calls = bound(module, plan, rotation, failure);
    if (failure) return {};
    const WatchedVariables& watched = dynamic_cast<const LoadedModule&>(module).variables();
    const std::vector<std::uint64_t> variables = digests_of(watched);
    const TimingContext context = timing_context();
    Timing timing = request.cold ? time_cold(context, calls, flush_buffer(), request, failure)
                                 : time_warm(context, calls, request, failure);
    if (failure) settle(failure);
    if (!failure) failure = changed(watched, variables);
    return timing;
  }

  std::vector<std::vector<SequenceCost>> time_sequences(const Module& module, const Plan& plan,
                                                        std::span<const Buffers> sets,
                                                        std::span<const CallSequence> sequences, int rounds,
                                                        std::optional<Failure>& failure) override {
    const std::vector<BoundCall> calls = bound(module, plan, sets, failure);
    if (failure) return {};
    write({});  // The kernel that writes is loaded before a graph is captured.
    auto costs = cuda::time_sequences(timing_context(), calls, *write_kernel_, sequences, rounds, failure);
    if (failure) settle(failure);
    return costs;
  }

  std::vector<LaunchProfile> profile(const Module& module, const Plan& plan, const Buffers& buffers,
                                     std::optional<Failure>& failure) override {
    // The call that warms the caches up also shows faults while CUPTI is out of the way.
    failure = run(module, plan, buffers);
    if (failure) return {};
    const auto& loaded = dynamic_cast<const LoadedModule&>(module);
    const BoundCall call(*driver_, loaded.get(), loaded.build(), plan, buffers, failure);
    if (failure) return {};
    const std::vector<CounterValues> values = range_profiler().read(plan.launches.size(), [&] {
      failure = call.enqueue(stream_.get());
      settle(failure);
      return !failure;
    });
    std::vector<LaunchProfile> launches;
    for (std::size_t i = 0; i < values.size(); ++i) launches.push_back({plan.launches[i].kernel, values[i]});
    return launches;
  }

 private:
  RangeProfiler& range_profiler() {
    if (range_profiler_) return *range_profiler_;
    std::string why_not;
    std::shared_ptr<const Cupti> cupti = load_cupti_(&why_not);
    if (!cupti) throw machine_error(why_not);
    return range_profiler_.emplace(std::move(cupti), context_.get(), ordinal_);
  }

  /// The plan's call in each set of buffers. Variables are filled from the first.
  std::vector<BoundCall> bound(const Module& module, const Plan& plan, std::span<const Buffers> sets,
                               std::optional<Failure>& failure) {
    failure.reset();
    const auto& loaded = dynamic_cast<const LoadedModule&>(module);
    std::vector<BoundCall> calls;
    calls.reserve(sets.size());
    for (const Buffers& buffers : sets) {
      calls.emplace_back(*driver_, loaded.get(), loaded.build(), plan, buffers, failure);
      if (failure) return {};
    }
    if (!calls.empty()) failure = calls.front().fill_constants(stream_.get());
    return calls;
  }

  TimingContext timing_context() const {
    return {*driver_, stream_.get(), monitor_.get(), 1e3 * info_.clock_ghz, seconds_};
  }

  /// Waits for the GPU, unless there are none.
  std::vector<std::uint64_t> digests_of(const WatchedVariables& variables) {
    if (variables.ranges.empty()) return {};
    Readback wanted;
    wanted.digested = variables.ranges;
    read(wanted);
    return wanted.digests;
  }

  std::optional<Failure> changed(const WatchedVariables& variables, const std::vector<std::uint64_t>& before) {
    const std::vector<std::uint64_t> now = digests_of(variables);
    const auto [was, is] = std::ranges::mismatch(before, now);
    if (was == before.end() || is == now.end()) return std::nullopt;
    return Failure{
        .verdict = Verdict::crashed,
        .reason = fmt::format("the variable {} was written, which would outlive a launch: use a workspace of "
                              "the plan",
                              variables.names[static_cast<std::size_t>(was - before.begin())])};
  }

  OwnedMemory allocate_memory(std::size_t bytes, const std::string& name) {
    CUdeviceptr address = 0;
    const CUresult result = driver_->memory_allocate(&address, std::max<std::size_t>(bytes, 1));
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      throw machine_error(fmt::format(
          "{}: out of memory: {:.1f} MB for {} do not fit into {:.1f} GB; use smaller shapes, or "
          "end other programs on this GPU",
          info_.id, static_cast<double>(bytes) * 1e-6, name, static_cast<double>(info_.memory_bytes) * 1e-9));
    }
    cuda::require(*driver_, result, fmt::format("{}: allocating {}", info_.id, name));
    return {*driver_, address};
  }

  /// For what is wanted. A kernel's fault must not meet an allocation.
  void make_room(Readback& wanted) {
    if (!digest_kernel_) digest_kernel_.emplace(*driver_);
    digest_kernel_->reserve(wanted.digested.size());
    std::size_t bytes = 0;
    for (const DeviceRange& range : wanted.copied) bytes += range.bytes;
    // Pinned memory is scarce: what is large takes the slower way.
    pinned_bytes_ = bytes > kPinnedBytes ? 0 : bytes;
    pinned_.of(pinned_bytes_);
    wanted.bytes.resize(bytes);
  }

  /// Puts what is wanted into the stream; what the driver says to it.
  CUresult start_reading(Readback& wanted) {
    CUresult result = digest_kernel_->start(wanted.digested, digest_key(), stream_.get());
    std::byte* to = pinned_bytes_ > 0 ? pinned_.of(pinned_bytes_).data() : wanted.bytes.data();
    for (const DeviceRange& range : wanted.copied) {
      if (result == CUDA_SUCCESS && range.bytes > 0)
        result = driver_->copy_to_host(to, range.from, range.bytes, stream_.get());
      to += range.bytes;
    }
    return result;
  }

  /// What has been read, after the stream was waited for.
  void take(Readback& wanted) {
    wanted.digests = digest_kernel_->digests();
    const std::span<const std::byte> found = pinned_.of(pinned_bytes_);
    if (!found.empty()) std::memcpy(wanted.bytes.data(), found.data(), found.size());
  }

  /// Waits for all that was put into the stream, also after a refused launch: buffers may be freed then. A
  /// fault on the device outweighs a refusal.
  void settle(std::optional<Failure>& failure) {
    const CUresult waited = driver_->stream_synchronize(stream_.get());
    if (waited == CUDA_SUCCESS || (failure && failure->device_lost)) return;
    failure = candidate_failure(*driver_, waited, "while it ran");
  }

  void require(CUresult result, const char* what) const {
    cuda::require(*driver_, result, fmt::format("{}: {}", info_.id, what));
  }

  /// Waits for a copy from or to the host: the driver may still be moving bytes when the call that started it returns.
  /// What stays on the GPU needs no waiting, because all goes through one stream.
  void finish(CUresult started, const char* what) {
    require(started != CUDA_SUCCESS ? started : driver_->stream_synchronize(stream_.get()), what);
  }

  FlushBuffer flush_buffer() {
    const std::size_t bytes = std::max(kFlushFactor * static_cast<std::size_t>(info_.l2_bytes), kMinFlushBytes);
    if (flush_.get() == 0) flush_ = allocate_memory(bytes, "the buffer that flushes L2");
    return {flush_.get(), bytes};
  }

  std::shared_ptr<const Driver> driver_;
  DeviceInfo info_;
  int ordinal_;
  std::unique_ptr<GpuMonitor> monitor_;
  std::function<double()> seconds_;
  CuptiLoader load_cupti_;
  PrimaryContext context_;
  OwnedStream stream_;
  OwnedMemory flush_;
  PinnedBuffer pinned_;
  std::size_t pinned_bytes_ = 0;  ///< Of the read under way.
  std::optional<DigestKernel> digest_kernel_;
  std::optional<WriteKernel> write_kernel_;
  std::optional<RangeProfiler> range_profiler_;
  std::map<DeviceAddress, OwnedMemory> memory_;
};

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<DeviceInfo> list_devices(const Driver& driver, std::string* why_none) {
  std::vector<DeviceInfo> devices;
  const int count = count_devices(driver, why_none);
  for (int ordinal = 0; ordinal < count; ++ordinal) devices.push_back(query_device(driver, ordinal));
  return devices;
}

std::vector<DeviceInfo> list_devices(std::string* why_none) {
  const std::shared_ptr<const Driver> driver = load_driver(why_none);
  return driver ? list_devices(*driver, why_none) : std::vector<DeviceInfo>{};
}

std::unique_ptr<Device> make_device(std::shared_ptr<const Driver> driver, int ordinal,
                                    std::unique_ptr<GpuMonitor> monitor, std::function<double()> seconds,
                                    CuptiLoader load_cupti) {
  std::string why_none;
  const int count = count_devices(*driver, &why_none);
  if (count == 0) throw machine_error(fmt::format("{}:{}: {}", kKind, ordinal, why_none));
  if (ordinal < 0 || ordinal >= count) {
    throw machine_error(fmt::format("{}:{}: there {}; the last is {}:{}", kKind, ordinal,
                                    count == 1 ? "is 1 GPU" : fmt::format("are {} GPUs", count), kKind, count - 1));
  }
  DeviceInfo info = query_device(*driver, ordinal);
  CUdevice device = 0;
  require(*driver, driver->device_get(&device, ordinal), info.id + ": cuDeviceGet");
  return std::make_unique<CudaDevice>(std::move(driver), std::move(info), device, ordinal, std::move(monitor),
                                      std::move(seconds), std::move(load_cupti));
}

std::unique_ptr<Device> make_device(int ordinal) {
  std::string why_not;
  std::shared_ptr<const Driver> driver = load_driver(&why_not);
  if (!driver) throw machine_error(fmt::format("{}:{}: {}", kKind, ordinal, why_not));
  std::string why_none;
  const std::vector<DeviceInfo> devices = list_devices(*driver, &why_none);
  std::unique_ptr<GpuMonitor> monitor;
  if (ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size()) {
    monitor = make_nvml_monitor(devices[static_cast<std::size_t>(ordinal)].uuid);
  }
  return make_device(std::move(driver), ordinal, std::move(monitor));
}

}  // namespace evo::cuda
