#include "recorded_device.h"

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.h"
#include "evaluator/hosts/devices.h"
#include "fake_tools.h"

namespace evo::testing {
namespace {

DeviceInfo recorded_info(std::string_view file) {
  DeviceInfo info = fake_device_info();
  info.kind = kRecorded;
  info.id = info.kind + ":" + std::string(file);
  info.name = "A recording";
  return info;
}

struct RecordedModule final : Module {
  std::unique_ptr<Module> computes;
  std::string source;
};

class RecordedDevice final : public Device {
 public:
  explicit RecordedDevice(std::string_view file) : info_(recorded_info(file)) {
    std::ifstream text{std::string(file)};
    recording_ = nlohmann::json::parse(text).get<LatencyRecording>();
  }

  const DeviceInfo& info() const override { return info_; }
  DeviceAddress allocate(std::size_t bytes, const std::string& name) override { return fake_->allocate(bytes, name); }
  void free(DeviceAddress address) override { fake_->free(address); }
  void upload(DeviceAddress to, std::span<const std::byte> from) override { fake_->upload(to, from); }
  void download(std::span<std::byte> to, DeviceAddress from) override { fake_->download(to, from); }
  void fill(DeviceAddress to, std::byte value, std::size_t bytes) override { fake_->fill(to, value, bytes); }
  void copy(DeviceAddress to, DeviceAddress from, std::size_t bytes) override { fake_->copy(to, from, bytes); }
  std::uint64_t digest(DeviceAddress from, std::size_t bytes) override { return fake_->digest(from, bytes); }

  std::unique_ptr<Module> load(const Binary& binary, std::optional<Failure>& failure) override {
    auto module = std::make_unique<RecordedModule>();
    module->computes = fake_->load(binary, failure);
    module->source = binary.ptx;
    return failure ? nullptr : std::move(module);
  }

  std::optional<Failure> run(const Module& module, const Plan& plan, const Buffers& buffers) override {
    return fake_->run(*static_cast<const RecordedModule&>(module).computes, plan, buffers);
  }

  Timing time(const Module& module, const Plan& plan, std::span<const Buffers> rotation, const TimingRequest& request,
              std::optional<Failure>& failure) override {
    for (const Buffers& buffers : rotation) {
      if ((failure = run(module, plan, buffers))) return {};
    }
    const auto found = recording_.find(static_cast<const RecordedModule&>(module).source);
    if (found == recording_.end()) {
      failure = Failure{Verdict::unsupported, "the recording has no such program"};
      return {};
    }
    Timing timing;
    timing.modelled = true;
    timing.cold = request.cold;
    timing.median_us = timing.low_us = timing.high_us = found->second;
    timing.samples_us = {found->second};
    return timing;
  }

 private:
  DeviceInfo info_;
  LatencyRecording recording_;
  std::unique_ptr<Device> fake_ = fake_tools().open_device("fake:0", 1);
};

/// Everything that evo needs to know about the kind.
DeviceBackend recorded_backend() {
  return {.kind = {.name = kRecorded,
                   .title = "a recording",
                   .modelled = true,
                   .cold_timing = false,
                   .repeatable = true,
                   .on_host = true,
                   .width = 3,
                   .grid_work = 1e6,
                   .held_out_work = 1e6,
                   .run_s = 60},
          .usage = "recorded:FILE",
          .list = [](std::string*) { return std::vector<DeviceInfo>(); },
          .find =
              [](std::string_view file) {
                if (!std::filesystem::exists(file)) throw machine_error("there is no recording " + std::string(file));
                return recorded_info(file);
              },
          .open = [](std::string_view file, int) { return std::make_unique<RecordedDevice>(file); },
          .open_compiler = [] { return fake_tools().open_compiler(kRecorded); },
          .examine = [](const DeviceProbe&) { return std::vector<Check>(); }};
}

[[maybe_unused]] const bool registered = (register_device_backend(recorded_backend()), true);

}  // namespace

void write_recording(const std::filesystem::path& file, const LatencyRecording& recording) {
  std::ofstream(file) << nlohmann::json(recording).dump();
}

}  // namespace evo::testing
