#include "engine/result/profile.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

using namespace evo;
using Catch::Approx;

namespace {

LaunchProfile launch(CounterValues values) {
  return {"kernel", std::move(values)};
}

CounterValues with(std::initializer_list<std::pair<std::string_view, double>> values) {
  CounterValues all;
  for (const auto& [metric, value] : values) all[std::string(metric)] = value;
  return all;
}

}  // namespace

TEST_CASE("every counter is listed once, by a metric and a title of its own") {
  std::set<std::string_view> metrics, titles;
  for (const Counter& counter : counters()) {
    CHECK(metrics.insert(counter.metric).second);
    CHECK(titles.insert(counter.title).second);
  }
  CHECK(metrics.contains(metric::kTensorPipe));
  CHECK(metrics.contains(stall_metric("barrier")));
}

TEST_CASE("warp states are parts of their sum, the largest first") {
  const auto shares = stall_shares(launch({{stall_metric("barrier"), 1},
                                           {stall_metric("selected"), 2},
                                           {stall_metric("long_scoreboard"), 5},
                                           {std::string(metric::kIssue), 50}}));
  REQUIRE(shares.size() == 3);
  CHECK(shares[0].state == "long scoreboard");
  CHECK(shares[0].percent == 62.5);
  CHECK(shares[1].state == "issuing");
  CHECK(shares[2].percent == 12.5);
  CHECK(stall_shares(launch({})).empty());
  CHECK(stall_shares(launch({{stall_metric("barrier"), 0}})).empty());
}

TEST_CASE("the busiest unit bounds a launch that keeps it busy") {
  CounterValues values = with({{metric::kTensorPipe, 82}, {metric::kL2, 40}, {metric::kWarps, 18}});
  values[stall_metric("selected")] = 3;
  values[stall_metric("gmma")] = 1;
  const Bound bound = bound_of(launch(values));
  CHECK(bound.unit == "tensor pipe");
  CHECK(bound.busy_percent == 82);
  CHECK_FALSE(bound.by_latency);
  CHECK(bound.stall.state == "gmma");  // Issuing is no waiting.
  CHECK(in_words(bound) ==
        "bound by the tensor pipe: busy for 82 % of the time; warps wait most in gmma (for warpgroup products, 25 %)");
}

TEST_CASE("a launch that keeps nothing busy is bound by latency") {
  CounterValues values = with({{metric::kTensorPipe, 20},
                               {metric::kMemory, 31},
                               {metric::kWarps, 12.4},
                               {metric::kActiveCycles, 450},
                               {metric::kCycles, 1000}});
  values[stall_metric("barrier")] = 4;
  values[stall_metric("wait")] = 1;
  const Bound bound = bound_of(launch(values));
  CHECK(bound.by_latency);
  CHECK(
      in_words(bound) ==
      "bound by latency: the busiest unit, the device memory, is busy for 31 % of the time; warps wait most in "
      "barrier (for other warps at a barrier, 80 %); 12 % of the warps that fit are resident; the average SM has work "
      "for 45 % of the time");
}

TEST_CASE("without counters nothing is said") {
  CHECK(in_words(bound_of(launch({}))).empty());
  CHECK(in_words(Profile{"mission", false, {launch({})}}).empty());
}

TEST_CASE("the longest launch speaks for a call") {
  const Profile profile{"mission",
                        false,
                        {launch(with({{metric::kDuration, 100}, {metric::kTensorPipe, 90}})),
                         launch(with({{metric::kDuration, 900}, {metric::kMemory, 95}})), launch({})}};
  CHECK(longest_launch(profile.launches) == &profile.launches[1]);
  CHECK(in_words(profile) == "bound by the device memory: busy for 95 % of the time");
}

TEST_CASE("traits are always as many, of the call and of its longest launch") {
  CounterValues values = with({{metric::kDuration, 9000}, {metric::kTensorPipe, 40}});
  values[stall_metric("barrier")] = 1;
  values[stall_metric("selected")] = 3;
  const std::vector<LaunchProfile> launches = {launch(with({{metric::kDuration, 1000}, {metric::kTensorPipe, 90}})),
                                               launch(values)};
  CHECK(duration_us(launches) == 10);
  const std::vector<float> traits = traits_of(launches);
  REQUIRE(traits.size() == kTraits);
  CHECK(traits[0] == std::log(10.0f));
  CHECK(traits[1] == 2);
  CHECK(traits[2] == 40);
  CHECK(traits[12] == 75);
  CHECK(traits[18] == 25);
  CHECK(traits_of({}) == std::vector<float>(kTraits));
}

TEST_CASE("what bounds a call is the share of the busiest unit, or of the state in which warps wait most") {
  CounterValues values = with({{metric::kDuration, 9000}, {metric::kTensorPipe, 40}, {metric::kShared, 59}});
  values[stall_metric("barrier")] = 3;
  values[stall_metric("wait")] = 1;
  values[stall_metric("selected")] = 96;
  const auto bounding = [&] { return bounding_share(traits_of(std::vector{launch(values)})); };
  CHECK(bounding() == 18);  // barrier
  values[std::string(metric::kWarps)] = 100;
  CHECK(bounding() == 18);  // resident warps are no unit
  values[std::string(metric::kShared)] = 61;
  CHECK(bounding() == 8);
  CHECK_FALSE(bounding_share({}));
  CHECK_FALSE(bounding_share(traits_of({})));

  const std::vector<float> traits = traits_of(std::vector{launch(values)});
  CHECK(log_time_of(traits, 8) == Approx(std::log(9 * 0.61)));
  CHECK(log_time_of(traits, 6) == Approx(std::log(9 * 0.01)));  // nothing is known of it
}
