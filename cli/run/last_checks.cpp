#include "cli/run/last_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cli/text/format.h"
#include "engine/result/elite_check.h"

namespace evo::cli {
namespace {

using Clock = RunTime::Clock;

constexpr std::chrono::seconds kLeast{10};
/// Of the run's time, of which at most one part is kept for the last checks.
constexpr int kParts = 4;

std::string seconds_text(Clock::duration time) {
  return duration_text(std::chrono::duration<double>(time).count());
}

class BoundedArchive final : public Archive {
 public:
  explicit BoundedArchive(Archive& archive, LastChecks last) : archive_(archive), last_(std::move(last)) {}

  std::optional<Recalled> recall(const Proposal& proposal) override { return archive_.recall(proposal); }
  void record(const Proposal& proposal, const Candidate& candidate, const Evaluation& evaluation) override {
    archive_.record(proposal, candidate, evaluation);
  }
  void settle() override { archive_.settle(); }

  std::vector<std::uint64_t> retracted(std::uint64_t answered, Wait wait) override {
    if (wait == Wait::no) return archive_.retracted(answered, wait);
    if (!end_ || answered != answered_) begin();
    answered_ = answered;
    const Watch watch(*this);
    return archive_.retracted(answered, wait);
  }

 private:
  /// Shows the wait while it lives, once a second, and ends the checks when their time is over.
  class Watch {
   public:
    explicit Watch(BoundedArchive& archive) : archive_(archive), thread_([this] { work(); }) {}
    ~Watch() {
      {
        const std::lock_guard lock(mutex_);
        over_ = true;
      }
      changed_.notify_all();
      thread_.join();
      archive_.last_.progress.wait({});
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    void work() {
      std::unique_lock lock(mutex_);
      while (!over_ && Clock::now() < *archive_.end_) {
        archive_.show();
        changed_.wait_until(lock, std::min(Clock::now() + std::chrono::seconds(1), *archive_.end_),
                            [this] { return over_; });
      }
      if (!over_) archive_.end_checks();
    }

    BoundedArchive& archive_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_;
  };

  void begin() {
    waiting_since_ = Clock::now();
    share_ = last_.time.for_last_checks();
    end_ = waiting_since_ + share_.most;
    const std::size_t open = last_.open();
    if (open > 0 && last_.time.checks_nothing())
      last_.progress.note("elites stay provisional: --check-time 0; evo verify ID makes the checks of one");
    else if (open > 0 && share_.most > Clock::duration::zero())
      last_.progress.note(fmt::format(
          "{} elite{} still to be checked ({}), for at most {}; Ctrl-C leaves {} provisional (docs/trust.md)", open,
          open == 1 ? " is" : "s are", fmt::join(kEliteChecks, ", "), seconds_text(share_.most),
          open == 1 ? "it" : "them"));
  }

  void show() const {
    const std::string standing = last_.checks.standing();
    if (!standing.empty())
      last_.progress.wait(fmt::format("{}, {} of at most {}", standing, seconds_text(Clock::now() - waiting_since_),
                                      seconds_text(share_.most)));
  }

  void end_checks() const {
    last_.checks.end(share_.most == Clock::duration::zero()
                         ? "the run's time is over"
                         : fmt::format("{} are over, {}", seconds_text(share_.most), share_.why));
  }

  Archive& archive_;
  const LastChecks last_;
  std::uint64_t answered_ = 0;  ///< When the last wait began. A search goes on where all it found was wrong.
  Clock::time_point waiting_since_;
  RunTime::Share share_{};
  std::optional<Clock::time_point> end_;  ///< Of the last wait, once it has begun.
};

}  // namespace

RunTime::RunTime(std::optional<Clock::duration> limit, std::optional<Clock::duration> for_checks,
                 std::function<Clock::time_point()> now)
    : limit_(limit), for_checks_(for_checks), now_(std::move(now)), begun_(now_()) {}

bool RunTime::is_over_for_search(const std::function<std::size_t()>& open,
                                 std::optional<Clock::duration> of_one) const {
  if (is_over()) return true;
  if (!limit_ || for_checks_ || left() > *limit_ / kParts) return false;
  const auto elites = static_cast<int>(open());
  return elites > 0 && (!of_one || elites * *of_one >= left());
}

RunTime::Share RunTime::for_last_checks() const {
  if (for_checks_) return {*for_checks_, "the --check-time"};
  const Share usual{std::max<Clock::duration>(kLeast, now_() - begun_), "and checks may take as long as the search"};
  if (!limit_ || left() > usual.most) return usual;
  return {std::max(left(), Clock::duration::zero()), "all that the run's time leaves for checks"};
}

std::unique_ptr<Archive> LastChecks::bounding(Archive& archive) const {
  return std::make_unique<BoundedArchive>(archive, *this);
}

}  // namespace evo::cli
