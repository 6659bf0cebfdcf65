#pragma once

#include <cstddef>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace evo::cli {

/// Recognises a model that goes on saying the same: the same proposals, or others that are refused for the same reason.
class Repetition {
 public:
  static constexpr std::size_t kAlike = 3;

  /// Of an answer, its proposals; of one that cannot be read, its fault.
  void answered(const std::vector<nlohmann::ordered_json>& proposals, const std::string& failure);
  /// What was refused of an answer, none of which has become a candidate.
  void refused(const nlohmann::ordered_json& refusals);
  /// A candidate has come of an answer.
  void forget_refusals() { reasons_.clear(); }

  /// Whether the last three were alike. Then they are forgotten.
  bool noticed();

 private:
  std::deque<std::string> answers_, reasons_;
};

}  // namespace evo::cli
