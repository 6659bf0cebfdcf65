#include "engine/search/settling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace evo {
namespace {

/// The rule was fitted from so many evaluations on.
constexpr std::size_t kLeastAnswers = 24;
/// Of 1, of log(share of the run since the best was kGain slower), and of log(evaluations / 50).
constexpr double kBase = -1.20, kSince = -0.60, kLength = -1.16;

constexpr double kFailed = std::numeric_limits<double>::infinity();

}  // namespace

void Settling::observe(std::uint64_t ticket, std::optional<double> latency_us) {
  answered_.push_back({ticket, latency_us.value_or(kFailed)});
}

void Settling::retract(std::uint64_t ticket) {
  const auto found = std::ranges::find(answered_, ticket, &Answered::ticket);
  if (found != answered_.end()) found->latency_us = kFailed;
}

std::optional<double> Settling::chance() const {
  if (answered_.size() < kLeastAnswers) return std::nullopt;
  const double best_us = std::ranges::min_element(answered_, {}, &Answered::latency_us)->latency_us;
  if (best_us == kFailed) return std::nullopt;
  const auto as_good = [&](const Answered& one) { return one.latency_us * (1 - kGain) <= best_us; };
  const auto since = static_cast<double>(answered_.end() - std::ranges::find_if(answered_, as_good));
  const auto all = static_cast<double>(answered_.size());
  return 1 / (1 + std::exp(-kBase - kSince * std::log(since / all) - kLength * std::log(all / 50)));
}

}  // namespace evo
