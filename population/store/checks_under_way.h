#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "population/store/database.h"
#include "population/store/records.h"

/// The checks of elites beside a search, and when their findings count. Internal to population/store.
namespace evo {

/// Has the elites of one run's board checked, one at a time, while its search goes on. Where the same seed must give
/// the same run (EliteChecks::every) results are kept until an answer that does not depend on how long checks take.
class ChecksUnderWay {
 public:
  ChecksUnderWay(Database& database, RunId run, EliteChecks checks)
      : database_(database), run_(run), checks_(std::move(checks)) {}

  /// There may be a provisional elite again.
  void look_again() { all_checked_ = false; }
  /// To be called once after each answer; `answered` were given until now.
  void after_answer(std::uint64_t answered);
  /// The search has ended: waits for what is left. Where one elite after the other is wrong, so may be all candidates:
  /// it gives up then.
  void after_search();

 private:
  /// Of the candidates that were there when the run had so many answers: the provisional elites, the best first.
  std::vector<CandidateId> provisional(std::uint64_t answered);
  CandidateId newest(std::uint64_t answered) const;
  /// Of these the best that was not begun, unless one is under way.
  void begin_one(std::uint64_t answered);
  bool is_under_way() const;

  enum class Wait { while_there_is_time, to_the_end };
  bool wait_for(CandidateId elite, Wait wait) const;
  /// Takes what the checks of provisional elites bring until so many have found something. Returns how many have.
  std::size_t take_until_found(std::size_t most, std::uint64_t answered, Wait wait);
  bool take(CandidateId elite);
  void take_ready();
  void notice(const std::string& line) const;

  Database& database_;
  RunId run_;
  EliteChecks checks_;
  std::map<CandidateId, std::future<CheckedElite>> begun_;  ///< Under way, or not taken yet.
  std::size_t found_at_end_ = 0;
  bool all_checked_ = false;  ///< No elite was provisional, and no valid candidate came since.
};

}  // namespace evo
