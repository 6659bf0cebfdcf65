#include "population/store/late_predictions.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace evo {
namespace {

class RunLatePredictions final : public LatePredictions {
 public:
  RunLatePredictions(Database& database, RunId run) : database_(database), run_(run) {
    Statement last = database.prepare("SELECT coalesce(max(ticket), -1) FROM candidate WHERE run = ?");
    last.bind(run).next();
    last_recorded_ = last.integer(0);
    drop_later();
    Statement row =
        database.prepare("SELECT choice, genome FROM late_prediction WHERE run = ? ORDER BY choice, genome");
    row.bind(run);
    while (row.next()) recorded_[row.natural(0)].push_back(row.natural(1));
  }

  std::optional<Tickets> recall(const Choice& choice) override {
    if (std::cmp_greater(choice.ticket, last_recorded_)) return std::nullopt;
    const auto found = recorded_.find(choice.number);
    return found == recorded_.end() ? Tickets() : found->second;
  }

  void record(const Choice& choice, const Tickets& late) override {
    WriteTransaction transaction(database_);
    for (const std::uint64_t genome : late) {
      database_.prepare("INSERT INTO late_prediction (run, choice, genome, ticket) VALUES (?, ?, ?, ?)")
          .bind(run_, choice.number, genome, choice.ticket)
          .run();
    }
    transaction.commit();
  }

 private:
  void drop_later() {
    WriteTransaction transaction(database_);
    database_.prepare("DELETE FROM late_prediction WHERE run = ? AND ticket > ?").bind(run_, last_recorded_).run();
    transaction.commit();
  }

  Database& database_;
  RunId run_;
  std::int64_t last_recorded_ = -1;            // ticket
  std::map<std::uint64_t, Tickets> recorded_;  // by choice
};

}  // namespace

std::unique_ptr<LatePredictions> make_late_predictions(Database& database, RunId run) {
  return std::make_unique<RunLatePredictions>(database, run);
}

}  // namespace evo
