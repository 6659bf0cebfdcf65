#include "evaluator/pipeline/pipeline.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/pipeline/gates.h"
#include "evaluator/pipeline/lane.h"
#include "evaluator/pipeline/program_building.h"
#include "evaluator/pipeline/shared_work.h"
#include "evaluator/timing/shared_timing.h"

namespace evo {
namespace {

/// How often a wait checks whether it is to stop.
constexpr std::chrono::milliseconds kPoll{100};

/// Candidates in flight that keep a GPU busy: some are compiled while one is validated and timed. There are no more,
/// because a strategy proposes better the more answers it has.
std::size_t enough_in_flight(const CasePlan& plan, const std::vector<bool>& judged_there) {
  constexpr double kCompileSeconds = 1.0;  // of one candidate
  constexpr double kTimingSeconds = 0.12;
  constexpr double kBytesPerSecond = 5e8;  // of inputs, sent and looked at again, outputs compared
  double bytes = 0;
  for (std::size_t i = 0; i < plan.cases.size(); ++i)
    if (!judged_there[i]) bytes += static_cast<double>(input_bytes(plan.cases[i].recipe));
  return 2 + static_cast<std::size_t>(std::ceil(kCompileSeconds / (kTimingSeconds + bytes / kBytesPerSecond)));
}

class Pipeline final : public DevicePipeline {
 public:
  explicit Pipeline(PipelineOptions options) : shared_(std::move(options)) {
    const std::lock_guard lock(shared_.mutex);
    add_lane(shared_.options.device);
    for (const DeviceInfo& device : shared_.options.further_devices) add_lane(device);
    oracle_thread_ = std::thread(
        [this, filling = std::make_unique<OracleStore::Filling>(shared_.oracles)] { compute_oracles(*filling); });
    for (const std::unique_ptr<Lane>& lane : lanes_) lane->start();
  }

  ~Pipeline() override {
    shared_.stop.raise();
    {
      const std::lock_guard lock(shared_.mutex);
      shared_.closing = true;
    }
    shared_.changed.notify_all();
    oracle_thread_.join();
    for (const std::unique_ptr<Lane>& lane : lanes_) lane->join();
  }

  /// Throws what is missing.
  void wait_until_open() {
    shared_.pool.wait_until_open();
    std::unique_lock lock(shared_.mutex);
    shared_.changed.wait(lock, [this] { return shared_.roll.has_opened(); });
    shared_.roll.end_opening();
  }

  std::size_t width() const override {
    if (const std::size_t width = kind_named(shared_.options.device.kind).width; width > 0) return width;
    const std::size_t lanes = lane_count();
    return std::min(enough_in_flight(shared_.plan, shared_.judged_there) * lanes,
                    static_cast<std::size_t>(shared_.compile_workers) + 2 * lanes);
  }

  void submit(std::uint64_t ticket, const Candidate& candidate) override {
    const DeviceInfo& device = shared_.options.device;
    CandidateJob job{ticket, candidate, candidate.source_hash(), check_legality(candidate, device)};
    const std::lock_guard lock(shared_.mutex);
    const bool fresh = shared_.known.submit(job.source_key);
    if (fresh && !job.illegal) start_compiling(job, shared_.pool, device);
    shared_.jobs.push_back(std::move(job));
    shared_.changed.notify_all();
  }

  Done wait() override {
    std::unique_lock lock(shared_.mutex);
    const std::atomic<bool>* const stop = shared_.options.stop;
    while (!shared_.changed.wait_for(lock, kPoll, [this] { return !shared_.done.empty() || shared_.roll.fatal(); }))
      if (stop != nullptr && stop->load()) throw Stopped();
    if (shared_.done.empty()) std::rethrow_exception(shared_.roll.fatal());
    Done done = std::move(shared_.done.front());
    shared_.done.pop_front();
    return done;
  }

  std::future<InterleavedTimings> start_interleaved(std::vector<Candidate> candidates, int rounds,
                                                    EnoughRounds enough) override {
    return enqueue(std::make_shared<SharedTiming>(std::move(candidates), rounds, std::move(enough)), std::nullopt);
  }

  std::vector<InterleavedTimings> time_on_each(const Candidate& candidate, int rounds) override {
    std::vector<std::future<InterleavedTimings>> waiting;
    for (std::size_t lane = 0, lanes = lane_count(); lane < lanes; ++lane) {
      const std::vector<Candidate> alone = {candidate};
      waiting.push_back(enqueue(std::make_shared<SharedTiming>(alone, rounds, EnoughRounds()), lane));
    }
    std::vector<InterleavedTimings> timings(waiting.size());
    for (std::size_t lane = 0; lane < waiting.size(); ++lane) {
      try {
        timings[lane] = waiting[lane].get();
      } catch (const Error& error) {
        timings[lane].rounds_us.resize(1);
        timings[lane].failures = {error.what()};
      }
    }
    return timings;
  }

  void compile_on(const OtherHost& host) override { shared_.pool.join(host); }
  std::vector<HostShare> compiled() const override { return shared_.pool.shares(); }

  void disqualify(const std::string& source_hash) override {
    const std::lock_guard lock(shared_.mutex);
    shared_.ranked.remove(source_hash);
  }

  void join(const DeviceInfo& device) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.closing || shared_.roll.fatal()) return;
    add_lane(device);
    lanes_.back()->start();
  }

  std::vector<DeviceInfo> devices() const override {
    const std::lock_guard lock(shared_.mutex);
    std::vector<DeviceInfo> devices;
    for (const std::unique_ptr<Lane>& lane : lanes_) devices.push_back(lane->options().device);
    return devices;
  }

  LaneTimes times() override {
    const std::lock_guard lock(shared_.mutex);
    shared_.clock.count();
    return shared_.clock.times;
  }

  std::vector<std::uint64_t> withdraw() override {
    const std::lock_guard lock(shared_.mutex);
    std::vector<std::uint64_t> tickets;
    for (const CandidateJob& job : shared_.jobs) tickets.push_back(job.ticket);
    shared_.jobs.clear();
    return tickets;
  }

 private:
  void add_lane(const DeviceInfo& device) { lanes_.push_back(std::make_unique<Lane>(shared_, lanes_.size(), device)); }

  const PipelineOptions& options_of_lane(std::size_t number) const {
    const std::lock_guard lock(shared_.mutex);
    return lanes_[number]->options();
  }

  std::size_t lane_count() const {
    const std::lock_guard lock(shared_.mutex);
    return lanes_.size();
  }

  /// On the first device, and where the machine fails there on the next of the options.
  void compute_oracles(OracleStore::Filling& oracles) {
    const std::size_t devices = 1 + shared_.options.further_devices.size();
    for (std::size_t i = 0; i < devices; ++i) {
      try {
        evo::compute_oracles(options_of_lane(i), shared_.plan, shared_.stop, oracles);
        return;
      } catch (const Error& error) {
        if (error.fault() == Fault::machine && i + 1 < devices) continue;
        oracles.fail(std::current_exception());
        return;
      } catch (...) {
        oracles.fail(std::current_exception());
        return;
      }
    }
  }

  std::future<InterleavedTimings> enqueue(std::shared_ptr<SharedTiming> timing, std::optional<std::size_t> lane) {
    std::future<InterleavedTimings> result = timing->result();
    const std::lock_guard lock(shared_.mutex);
    if (shared_.roll.fatal()) std::rethrow_exception(shared_.roll.fatal());
    if (lane && shared_.roll.has_left(*lane)) {
      timing->fail(shared_.roll.why_left(*lane));
      return result;
    }
    shared_.comparisons.add(std::move(timing), lane);
    shared_.changed.notify_all();
    return result;
  }

  SharedWork shared_;
  std::vector<std::unique_ptr<Lane>> lanes_;  ///< Guarded by the mutex of what they share.
  std::thread oracle_thread_;
};

}  // namespace

std::unique_ptr<DevicePipeline> make_pipeline(PipelineOptions options) {
  auto pipeline = std::make_unique<Pipeline>(std::move(options));
  pipeline->wait_until_open();
  return pipeline;
}

}  // namespace evo
