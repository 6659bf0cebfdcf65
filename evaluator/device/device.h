#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/error.h"
#include "engine/result/evaluation.h"
#include "engine/result/profile.h"
#include "engine/task/family.h"
#include "engine/task/plan.h"

namespace evo {

/// The facts of one device.
struct DeviceInfo {
  std::string id;    ///< KIND:NAME, as --device takes it: "cuda:0", "vgpu:h200".
  std::string kind;  ///< A registered DeviceKind's name.
  std::string name;  ///< "NVIDIA H200".
  std::string arch;  ///< What NVRTC compiles for: "sm_90a", "sm_89".
  std::string uuid;  ///< Empty for a virtual GPU.
  std::string driver;
  DeviceLimits limits;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  double clock_ghz = 0;            ///< Maximum SM clock.
  double memory_gbytes_per_s = 0;  ///< Theoretical.
  double launch_floor_us = 0;      ///< The shortest launch in a graph.
  // Of a device on another host; empty for one of this host.
  std::string host;
  std::string reached_by;  ///< The prefix of the commands that run there (evaluator/worker/prefix_command.h).
  std::string program;     ///< This program's file there.
  /// Dense peak of the tensor cores in TFLOP/s for a dtype; 0 when the device has none.
  double peak_tflops(DType dtype) const;
};

/// "cuda:0", "cuda:0 on node7"
std::string called(const DeviceInfo& device);

/// A compiled program. One compilation gives both forms: GPUs load the cubin, virtual GPUs interpret the PTX.
struct Binary {
  std::string arch;
  std::vector<std::byte> cubin;
  std::string ptx;
  Build build;
};

/// Its cubin and PTX are no fields: where a binary travels, they go beside the record.
EVO_FIELDS(Binary, arch, build);

/// A candidate's fault when it was compiled, loaded or run. A value, because bad candidates are data.
struct Failure {
  Verdict verdict = Verdict::crashed;
  std::string reason;
  bool device_lost = false;               ///< The device's context is broken, and only a new process gets another.
  std::string log = {};                   ///< The compiler's whole output, where a compilation failed.
  std::optional<Mismatch> mismatch = {};  ///< Of a wrong answer; it then needs no reason.
};

EVO_RECORD(Failure, verdict, reason, device_lost, log, mismatch);

using DeviceAddress = std::uint64_t;

/// Bytes on a device.
struct DeviceRange {
  DeviceAddress from = 0;
  std::size_t bytes = 0;
};

/// Bytes to be written on a device: a copy of others there, or all of one value.
struct DeviceWrite {
  DeviceAddress to = 0;
  std::size_t bytes = 0;
  DeviceAddress from = 0;  ///< 0: they get the value.
  std::byte value{0};      ///< 0xff of a copy: it reads as any copy does, and writes 0xff.
};

/// A call of a plan in one of several sets of buffers, after writes: batch after batch, each as Device::write does it.
struct CallStep {
  std::size_t set = 0;
  std::vector<std::vector<DeviceWrite>> writes = {};
  bool calls = true;  ///< False: only the writes.
};
using CallSequence = std::vector<CallStep>;

/// What one sequence of calls took.
struct SequenceCost {
  double us = 0;
  std::uint64_t instructions = 0;  ///< Of all warps, where the device counts them.
};

/// A request to a device's memory, and its answer.
struct Readback {
  std::vector<DeviceRange> digested;
  std::vector<DeviceRange> copied;
  std::vector<std::uint64_t> digests = {};  ///< Found: of each range of `digested`, as Device::digest.
  std::vector<std::byte> bytes = {};        ///< Found: those of `copied`, one range behind the other.
};

/// Loaded code. Freed with the object; must not outlive its device.
class Module {
 public:
  virtual ~Module() = default;
};

/// Addresses of a plan's buffers, in the order of plan.tensors and plan.workspaces.
struct Buffers {
  std::vector<DeviceAddress> tensors;
  std::vector<DeviceAddress> workspaces;
};

struct TimingRequest {
  bool cold = false;  ///< Single launches after the L2 cache was flushed; otherwise a graph of repeated launches.
  int min_samples = 20;
  int max_samples = 200;
  double min_seconds =
      0.05;  ///< Of sampling, unless max_samples come first. Under a power limit clocks swing for so long.
  double full_clock_seconds = 0.01;  ///< In place of min_seconds where the warm-up has kept the GPU's full clock.
  double max_seconds = 0.5;
  double warm_up_seconds = 0.1;     ///< Of calls before the first sample (docs/decisions/0003-sustained-clocks.md).
  double relative_interval = 0.01;  ///< Stop once the 95 % interval of the median is this tight.
  /// A call that takes longer early in the warm-up gets a few samples only. A rested GPU only gets slower, so stop
  /// early. 0: none.
  double hopeless_us = 0;
  /// A call that still takes longer after part of the warm-up gets no more of it, for the same reason. 0: none.
  double to_beat_us = 0;
};

EVO_RECORD(TimingRequest, cold, min_samples, max_samples, min_seconds, full_clock_seconds, max_seconds, warm_up_seconds,
           relative_interval, hopeless_us, to_beat_us);

/// Runs plans: a GPU, or what stands for one. Used by one thread, inside a worker process.
/// Methods throw machine_error for failures of the machine and return Failure for failures of the candidate.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  /// 256-byte aligned. `name` appears in reports of bad accesses. Throws machine_error when memory is exhausted.
  virtual DeviceAddress allocate(std::size_t bytes, const std::string& name) = 0;
  virtual void free(DeviceAddress address) = 0;
  virtual void upload(DeviceAddress to, std::span<const std::byte> from) = 0;
  virtual void download(std::span<std::byte> to, DeviceAddress from) = 0;
  virtual void fill(DeviceAddress to, std::byte value, std::size_t bytes) = 0;
  /// From one buffer to another, without the bytes leaving the device.
  virtual void copy(DeviceAddress to, DeviceAddress from, std::size_t bytes) = 0;
  /// Several of the two above at once, which do not overlap.
  virtual void write(std::span<const DeviceWrite> writes) {
    for (const DeviceWrite& one : writes) {
      if (one.from != 0 && one.value == std::byte{0}) {
        copy(one.to, one.from, one.bytes);
      } else {
        fill(one.to, one.value, one.bytes);
      }
    }
  }
  /// The digest of those bytes under this process's key (evaluator/device/digest.h). `from` is a multiple of 8.
  virtual std::uint64_t digest(DeviceAddress from, std::size_t bytes) = 0;
  /// Finds what is wanted. A GPU is waited for once.
  virtual void read(Readback& wanted) {
    wanted.digests.clear();
    for (const DeviceRange& range : wanted.digested) wanted.digests.push_back(digest(range.from, range.bytes));
    std::size_t bytes = 0;
    for (const DeviceRange& range : wanted.copied) bytes += range.bytes;
    wanted.bytes.resize(bytes);
    std::span<std::byte> to(wanted.bytes);
    for (const DeviceRange& range : wanted.copied) {
      download(to.first(range.bytes), range.from);
      to = to.subspan(range.bytes);
    }
  }

  /// Null, with `failure` set, when the code does not load: a bad image, an instruction that the device does not know.
  virtual std::unique_ptr<Module> load(const Binary& binary, std::optional<Failure>& failure) = 0;

  /// Fills the variables that the plan names, runs every launch once and waits for the end.
  virtual std::optional<Failure> run(const Module& module, const Plan& plan, const Buffers& buffers) = 0;

  /// As `run`, and then `read`, unless it failed. A GPU is waited for once.
  virtual std::optional<Failure> run_and_read(const Module& module, const Plan& plan, const Buffers& buffers,
                                              Readback& wanted) {
    std::optional<Failure> failure = run(module, plan, buffers);
    if (!failure) read(wanted);
    return failure;
  }

  /// As `run`, but a race or a read of unwritten memory is a failure too, on devices whose kind sanitises.
  virtual std::optional<Failure> run_sanitised(const Module& module, const Plan& plan, const Buffers& buffers) {
    return run(module, plan, buffers);
  }

  /// Times one call of the plan, launched as `run` does. `rotation` holds one or more sets of buffers; call after call
  /// uses the next one. Variables are filled once, from the first set, and that is not timed.
  virtual Timing time(const Module& module, const Plan& plan, std::span<const Buffers> rotation,
                      const TimingRequest& request, std::optional<Failure>& failure) = 0;

  /// What sequences of calls take, by round and sequence: each runs once in a round, on a GPU as one graph, and each
  /// round begins with another. Variables are filled as `time` does it. The last one to run is the last sequence. On a
  /// device that knows no times nothing runs, and the answer is empty.
  virtual std::vector<std::vector<SequenceCost>> time_sequences(const Module& /*module*/, const Plan& /*plan*/,
                                                                std::span<const Buffers> /*sets*/,
                                                                std::span<const CallSequence> /*sequences*/,
                                                                int /*rounds*/, std::optional<Failure>& failure) {
    failure.reset();
    return {};
  }

  /// The counters of every launch of one warm call: a GPU's own, or those that the cost model knows. Throws
  /// machine_error, with the remedy, on a device that has none or may not read them.
  virtual std::vector<LaunchProfile> profile(const Module& /*module*/, const Plan& /*plan*/, const Buffers& /*buffers*/,
                                             std::optional<Failure>& /*failure*/) {
    throw machine_error(info().id + " has no counters");
  }
};

}  // namespace evo
