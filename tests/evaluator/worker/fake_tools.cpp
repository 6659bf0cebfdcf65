#include "fake_tools.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "host_memory_device.h"

namespace evo::testing {
namespace {

/// The words of a source.
class Words {
 public:
  explicit Words(const std::string& text) {
    std::istringstream stream(text);
    for (std::string word; stream >> word;) words_.push_back(word);
  }
  bool has(const std::string& word) const { return std::ranges::find(words_, word) != words_.end(); }
  /// The text after "KEY=".
  std::string value(const std::string& key, const std::string& otherwise) const {
    for (const std::string& word : words_) {
      if (word.starts_with(key + "=")) return word.substr(key.size() + 1);
    }
    return otherwise;
  }

 private:
  std::vector<std::string> words_;
};

[[noreturn]] void hang() {
  while (true) ::pause();
}

[[noreturn]] void crash() {
  std::signal(SIGSEGV, SIG_DFL);  // Sanitizers catch it otherwise.
  ::raise(SIGSEGV);
  std::abort();
}

constexpr const char* kFakeVersion = "0.0";

class FakeCompiler final : public Compiler {
 public:
  std::variant<Binary, Failure> compile(const SourceRequest& request) override {
    const std::string& source = request.source;
    const Words words{source};
    if (words.has("compile_hang")) {
      if (const std::string begun = words.value("begun", ""); !begun.empty()) std::ofstream(begun) << "here";
      hang();
    }
    if (words.has("compile_crash")) crash();
    if (words.has("compile_break")) throw machine_error("the compiler's disk is full");
    if (words.has("compile_error"))
      return Failure{Verdict::compile_failed, "kernel.cu(1): error: compile_error", false, "the log"};
    Binary binary;
    binary.arch = request.arch;
    binary.ptx = source;
    if (build() != kFakeVersion) binary.ptx += " // " + build();
    binary.cubin.resize(source.size());
    std::memcpy(binary.cubin.data(), source.data(), source.size());
    binary.build.arch = request.arch;
    for (const std::string& kernel : request.kernels)
      binary.build.kernels[kernel] = {.registers = 32, .spill_bytes = words.has("spills") ? 8 : 0, .launched = true};
    binary.build.cubin_hash = words.value("cubin", source);
    return binary;
  }
  std::string version() override { return build().substr(0, build().find('+')); }

 private:
  static std::string build() {
    const char* other = std::getenv("EVO_FAKE_COMPILER");
    return other != nullptr ? other : kFakeVersion;
  }
};

struct FakeModule final : Module {
  explicit FakeModule(const std::string& source) : words(source) {}
  Words words;
};

/// Guards before and behind each tensor, as evaluator/device/device_buffers.cpp lays them.
constexpr std::size_t kGuardBytes = 4096;

class FakeDevice final : public HostMemoryDevice {
 public:
  explicit FakeDevice(const std::string& id) { info_.id = id; }

  const DeviceInfo& info() const override { return info_; }

  DeviceAddress allocate(std::size_t bytes, const std::string& name) override {
    if (bytes > std::size_t{1} << 30) throw machine_error("fake:0: out of memory for " + name);
    auto memory = std::make_unique<std::byte[]>(bytes);
    const auto address = reinterpret_cast<DeviceAddress>(memory.get());
    memory_[address] = std::move(memory);
    sizes_[address] = bytes;
    return address;
  }
  void free(DeviceAddress address) override { memory_.erase(address); }

  std::unique_ptr<Module> load(const Binary& binary, std::optional<Failure>& failure) override {
    if (Words(binary.ptx).has("unsupported")) {
      failure = Failure{Verdict::unsupported, "line 7: frobnicate is unknown", false, ""};
      return nullptr;
    }
    return std::make_unique<FakeModule>(binary.ptx);
  }

  std::optional<Failure> run(const Module& module, const Plan& plan, const Buffers& buffers) override {
    const Words& words = static_cast<const FakeModule&>(module).words;
    if (words.has("crash")) crash();
    if (words.has("exit")) ::_exit(0);
    if (words.has("hang")) hang();
    if (words.has("break") || words.value("break_on", "") == info_.id) throw machine_error("the cable fell out");
    if (words.has("kill_once")) once(SIGKILL, words.value("mark", ""));
    if (words.has("stop_once")) once(SIGSTOP, words.value("mark", ""));
    if (words.has("lost")) return Failure{Verdict::crashed, "illegal address", true, ""};
    if (words.has("fault")) return Failure{Verdict::crashed, "trap", false, ""};
    if (words.has("thief") && answer_is_in_memory(plan, buffers)) {
      return Failure{Verdict::crashed, "an answer lies about", false, ""};
    }
    add(words, plan, buffers, false);
    return std::nullopt;
  }

  Timing time(const Module& module, const Plan& plan, std::span<const Buffers> rotation, const TimingRequest& request,
              std::optional<Failure>&) override {
    const Words& words = static_cast<const FakeModule&>(module).words;
    if (words.has("exit_when_timed")) ::_exit(0);
    for (const Buffers& buffers : rotation) add(words, plan, buffers, true);
    Timing timing;
    timing.cold = request.cold;
    timing.median_us = words.has("fast") ? 0.001 : std::stod(words.value("us", "10")) * (request.cold ? 2 : 1);
    if (warmed_up(request)) timing.median_us = std::stod(words.value("warm_us", std::to_string(timing.median_us)));
    // Drift of the clocks, and noise.
    timing.median_us *= std::stod(words.value(info_.id + "_takes", "1"));
    timing.median_us *= 1 + std::stod(words.value("drift", "0")) * timings_;
    timing.median_us *= 1 + std::stod(words.value("noise", "0")) * std::sin(12.9898 * ++timings_);
    timing.median_us *= highest_clock / clock_in(words, request);
    timing.conditions.sm_mhz_low = timing.conditions.sm_mhz_high = static_cast<int>(clock_);
    timing.low_us = timing.high_us = timing.median_us;
    timing.samples_us.assign(20, timing.median_us);
    // A few samples at another clock, which change the mean alone.
    std::fill_n(timing.samples_us.begin(), 5, timing.median_us * (1 + std::stod(words.value("swing", "0"))));
    return timing;
  }

  std::vector<LaunchProfile> profile(const Module& module, const Plan& plan, const Buffers& buffers,
                                     std::optional<Failure>& failure) override {
    const Words& words = static_cast<const FakeModule&>(module).words;
    if (!words.has("counted")) return HostMemoryDevice::profile(module, plan, buffers, failure);
    if (const char* mark = std::getenv("EVO_FAKE_ELSEWHERE"); mark != nullptr && words.has("crash_elsewhere")) {
      ::mkdir(mark, 0700);
      crash();
    }
    return {{"add", {{std::string(metric::kDuration), 1000 * std::stod(words.value("us", "10"))}}}};
  }

 private:
  /// True when the answer to these inputs is in memory that belongs to no tensor of the plan.
  bool answer_is_in_memory(const Plan& plan, const Buffers& buffers) const {
    const auto* a = reinterpret_cast<const float*>(buffers.tensors[0]);
    const auto* b = reinterpret_cast<const float*>(buffers.tensors[1]);
    const std::size_t bytes = plan.tensors[2].bytes;
    std::vector<float> sum(bytes / sizeof(float));
    std::transform(a, a + sum.size(), b, sum.begin(), std::plus<>());
    if (std::ranges::count(sum, 0.0F) > 0) return false;  // Zeros are everywhere.
    for (const auto& [address, memory] : memory_) {
      if (address == buffers.tensors[2] - kGuardBytes || sizes_.at(address) != bytes + 2 * kGuardBytes) continue;
      if (std::memcmp(memory.get() + kGuardBytes, sum.data(), bytes) == 0) return true;
    }
    return false;
  }

  /// Just below a limit of 0.001 on as many inputs as `overfits` says, above it on all others.
  float near(const Words& words, const float* a, std::size_t count) {
    const std::size_t trained = std::stoul(words.value("overfits", "1000000"));
    const std::vector<float> input(a, a + count);
    if (seen_.size() < trained) seen_.insert(input);
    return seen_.contains(input) ? 1 + std::stof(words.value("error", "0.00095")) : 1.0012F;
  }

  /// Kills or stops the worker, as an outside process would. Only the first call with this mark does.
  static void once(int signal, const std::string& mark) {
    if (::mkdir(mark.c_str(), 0700) == 0) ::raise(signal);
  }

  void add(const Words& words, const Plan& plan, const Buffers& buffers, bool timed) {
    auto* a = reinterpret_cast<float*>(buffers.tensors[0]);
    const auto* b = reinterpret_cast<const float*>(buffers.tensors[1]);
    auto* c = reinterpret_cast<float*>(buffers.tensors[2]);
    const std::size_t count = plan.tensors[2].bytes / sizeof(float);
    if (words.has("noop")) return;
    if (words.has("done_before") && std::fabs(c[0]) < 1e30F && c[0] != 0) return;
    if (words.has("mutate")) a[count / 2] += 1.0F;
    std::vector<float> sum(count);
    std::transform(a, a + count, b, sum.begin(), std::plus<>());
    if (words.has("zeros") || words.value("zeros_on", "") == info_.id || (timed && words.has("wrong_when_timed")))
      std::ranges::fill(sum, 0.0F);
    if (words.has("mean"))
      std::ranges::fill(sum, std::accumulate(sum.begin(), sum.end(), 0.0F) / static_cast<float>(count));
    if (words.has("scaled")) std::ranges::for_each(sum, [](float& value) { value *= 1.2F; });
    if (words.has("near")) {
      std::ranges::transform(sum, sum.begin(),
                             [factor = near(words, a, count)](float value) { return value * factor; });
    }
    const float off = std::stof(words.value("off", "0"));
    std::ranges::for_each(sum, [off](float& value) { value += off; });
    if (words.has("nan")) sum[count / 3] = std::numeric_limits<float>::quiet_NaN();
    if (words.has("last_wrong")) sum[count - 1] += 100.0F;
    if (words.has("half")) std::fill(sum.begin() + static_cast<std::ptrdiff_t>(count / 2), sum.end(), 0.0F);
    if (words.has("unstable")) sum[0] += static_cast<float>(++runs_) * 1e-6F;
    if (words.has("stale")) sum = remembered_.try_emplace(buffers.tensors[0], sum).first->second;
    std::ranges::copy(sum, c);
    if (words.has("overrun")) c[count] = 0.0F;
    if (words.has("underrun")) c[-1] = 0.0F;
    if (words.has("workspace_overrun"))
      reinterpret_cast<float*>(buffers.workspaces[0])[plan.workspaces[0].bytes / sizeof(float)] = 0;
    if (words.has("workspace_underrun")) reinterpret_cast<float*>(buffers.workspaces[0])[-1] = 0;
  }

  /// The clock during a timing. The power limit lowers the clock of a kernel with `clock=MHZ` to that value: before
  /// the first sample if the warm-up is long enough, otherwise for the next timing.
  double clock_in(const Words& words, const TimingRequest& request) {
    const double settled = std::stod(words.value("clock", std::to_string(highest_clock)));
    clock_ = warmed_up(request) ? settled : next_clock_;
    next_clock_ = settled;
    return clock_;
  }

  static bool warmed_up(const TimingRequest& request) { return request.warm_up_seconds >= 0.1; }

  static constexpr double highest_clock = 2000;
  double clock_ = highest_clock;
  double next_clock_ = highest_clock;
  DeviceInfo info_ = fake_device_info();
  std::map<DeviceAddress, std::unique_ptr<std::byte[]>> memory_;
  std::map<DeviceAddress, std::vector<float>> remembered_;
  std::map<DeviceAddress, std::size_t> sizes_;
  std::set<std::vector<float>> seen_;
  int runs_ = 0;
  int timings_ = 0;
};

}  // namespace

WorkerTools fake_tools() {
  return {[](const std::string& id, int) -> std::unique_ptr<Device> {
            if (id != "fake:0" && id != "fake:1" && id != "fake:2")
              throw machine_error(id + ": there is no such device");
            return std::make_unique<FakeDevice>(id);
          },
          [](const std::string&) { return std::make_unique<FakeCompiler>(); }, true};
}

}  // namespace evo::testing
