#include "cli/run/run_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace evo::cli {
namespace {

struct TimeShare {
  std::string_view name;
  double seconds = 0;
  const char* text;  ///< "N % ..." of the devices' time.
};

std::vector<TimeShare> time_shares(const RunTimes& times) {
  const double comparing_s = times.lanes.comparison_s + times.settling_s;
  const double idle_s = std::max(0.0, times.lanes.idle_s - times.modelling_s - times.settling_s - times.checking_s);
  return {{"validation", times.lanes.validation_s, "validating"},
          {"timing", times.lanes.timing_s, "timing"},
          {"comparisons", comparing_s, "comparing challengers with elites"},
          {"checks", times.checking_s, "waiting for checks of elites"},
          {"compiling", times.lanes.compiling_s, "waiting for compilers"},
          {"modelling", times.modelling_s, "waiting for models"},
          {"idle", idle_s, "without a candidate"}};
}

}  // namespace

/// Adds the time for which devices are idle while it lives.
class RunClock::IdleDuring {
 public:
  IdleDuring(DevicePipeline& pipeline, double& sum_s)
      : pipeline_(pipeline), sum_s_(sum_s), before_s_(pipeline.times().idle_s) {}
  ~IdleDuring() { sum_s_ += pipeline_.times().idle_s - before_s_; }
  IdleDuring(const IdleDuring&) = delete;
  IdleDuring& operator=(const IdleDuring&) = delete;

 private:
  DevicePipeline& pipeline_;
  double& sum_s_;
  double before_s_;
};

class RunClock::MeasuredStrategy final : public Strategy {
 public:
  MeasuredStrategy(Strategy& strategy, RunClock& clock) : strategy_(strategy), clock_(clock) {}
  std::optional<Proposal> ask() override {
    const IdleDuring idle(clock_.pipeline_, clock_.modelling_s_);
    return strategy_.ask();
  }
  std::optional<Proposal> offer(const Genome& genome, std::string op, std::vector<std::uint64_t> parents) override {
    return strategy_.offer(genome, std::move(op), std::move(parents));
  }
  void tell(const Answer& answer) override { strategy_.tell(answer); }
  void retract(const Answer& failure) override { strategy_.retract(failure); }
  bool waits() const override { return strategy_.waits(); }

 private:
  Strategy& strategy_;
  RunClock& clock_;
};

class RunClock::MeasuredArchive final : public Archive {
 public:
  MeasuredArchive(Archive& archive, RunClock& clock) : archive_(archive), clock_(clock) {}
  std::optional<Recalled> recall(const Proposal& proposal) override { return archive_.recall(proposal); }
  void record(const Proposal& proposal, const Candidate& candidate, const Evaluation& evaluation) override {
    archive_.record(proposal, candidate, evaluation);
  }
  void settle() override {
    const IdleDuring idle(clock_.pipeline_, clock_.settling_s_);
    archive_.settle();
  }
  std::vector<std::uint64_t> retracted(std::uint64_t answered, Wait wait) override {
    const IdleDuring idle(clock_.pipeline_, clock_.checking_s_);
    return archive_.retracted(answered, wait);
  }

 private:
  Archive& archive_;
  RunClock& clock_;
};

std::unique_ptr<Strategy> RunClock::measured(Strategy& strategy) {
  return std::make_unique<MeasuredStrategy>(strategy, *this);
}

std::unique_ptr<Archive> RunClock::measured(Archive& archive) {
  return std::make_unique<MeasuredArchive>(archive, *this);
}

RunTimes RunClock::times() {
  return {pipeline_.devices().size(),
          watch_.lap_s(),
          pipeline_.times().since(begin_),
          modelling_s_,
          settling_s_,
          checking_s_};
}

std::string bound_by(const RunTimes& times) {
  const std::vector<TimeShare> shares = time_shares(times);
  const auto largest = std::ranges::max_element(shares, {}, &TimeShare::seconds);
  return largest->seconds > 0 ? std::string(largest->name) : "";
}

nlohmann::ordered_json times_json(const RunTimes& times) {
  nlohmann::ordered_json json = {{"search_s", times.search_s}, {"bound_by", bound_by(times)}};
  for (const TimeShare& share : time_shares(times)) json[fmt::format("{}_s", share.name)] = share.seconds;
  return json;
}

std::string times_text(const RunTimes& times) {
  const std::string largest = bound_by(times);
  if (largest.empty()) return "";
  std::vector<std::string> parts;
  std::vector<TimeShare> shares = time_shares(times);
  std::ranges::stable_sort(shares, std::greater(), &TimeShare::seconds);
  for (const TimeShare& share : shares) {
    const double percent = 100 * share.seconds / times.lanes.total_s();
    if (percent >= 0.5) parts.push_back(fmt::format("{:.0f} % {}", percent, share.text));
  }
  return fmt::format("bound by {}: in {:.3g} s the {} spent {}\n", largest == "idle" ? "too few candidates" : largest,
                     times.search_s, times.devices == 1 ? "device" : "devices", fmt::join(parts, ", "));
}

}  // namespace evo::cli
