#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/proposer/line_share.h"
#include "engine/result/evaluation.h"
#include "engine/strategy/strategy.h"
#include "engine/task/candidate.h"

namespace evo::cli {

/// The valid candidates of a run, as a proposer is told them.
class KnownCandidates {
 public:
  /// `floors_us`: by timed shape; empty: unknown. Both functions may be empty.
  KnownCandidates(std::map<std::string, double> floors_us, std::function<Candidate(const Genome&)> build,
                  LineShareOf line_shares)
      : floors_us_(std::move(floors_us)), build_(std::move(build)), line_shares_(std::move(line_shares)) {}

  /// Whether it is one of the best so far.
  bool add(const Proposal& proposal, const Evaluation& evaluation);

  /// The best, with their sources, and the best one with the shares of its lines and files.
  nlohmann::ordered_json elites();
  /// Slower ones that differ: first the best of each other family, then those that something else bounds.
  nlohmann::ordered_json slower() const;
  /// How the best one came about: itself, a parent, that one's parent, ...
  nlohmann::ordered_json lineage() const;

  /// Null: no valid candidate has that ticket.
  const Genome* genome_of(std::uint64_t ticket) const;
  std::optional<double> latency_of(std::uint64_t ticket) const;
  /// Its genome's sources. Throws usage_error where they cannot be made.
  Candidate build(const Genome& genome) const;

 private:
  struct Valid {
    Genome genome;
    std::string op;
    std::string note;
    std::vector<std::uint64_t> parents;
    double latency_us = 0;
    std::string profile;           ///< In words.
    nlohmann::ordered_json facts;  ///< What an elite is told with.
    std::vector<Profile> profiles;
  };

  std::vector<std::uint64_t> best_tickets() const;  ///< At most kEliteCount.
  const nlohmann::ordered_json& sources_of(std::uint64_t ticket, const Valid& valid, bool with_shares);

  std::map<std::string, double> floors_us_;
  std::function<Candidate(const Genome&)> build_;
  LineShareOf line_shares_;
  std::map<std::uint64_t, Valid> valid_;                      // by ticket
  std::vector<std::pair<double, std::uint64_t>> by_latency_;  // the fastest first; the earlier of equal ones first
  std::map<std::pair<std::uint64_t, bool>, nlohmann::ordered_json> sources_;  // of elites, without or with shares
};

}  // namespace evo::cli
