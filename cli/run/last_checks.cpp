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

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLeast{10};

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
    const Clock::time_point now = Clock::now();
    most_ = last_.most ? Clock::duration(*last_.most) : std::max<Clock::duration>(kLeast, now - begun_);
    waiting_since_ = now;
    end_ = now + most_;
    const std::size_t open = last_.open();
    if (open > 0 && most_ == Clock::duration::zero())
      last_.progress.note("elites stay provisional: --check-time 0; evo verify ID makes the checks of one");
    else if (open > 0)
      last_.progress.note(fmt::format(
          "{} elite{} still to be checked ({}), for at most {}; Ctrl-C leaves {} provisional (docs/trust.md)", open,
          open == 1 ? " is" : "s are", fmt::join(kEliteChecks, ", "), seconds_text(most_), open == 1 ? "it" : "them"));
  }

  void show() const {
    const std::string standing = last_.checks.standing();
    if (!standing.empty())
      last_.progress.wait(fmt::format("{}, {} of at most {}", standing, seconds_text(Clock::now() - waiting_since_),
                                      seconds_text(most_)));
  }

  void end_checks() const {
    last_.checks.end(fmt::format("{} are over, {}", seconds_text(most_),
                                 last_.most ? last_.reason : "and checks may take as long as the search"));
  }

  Archive& archive_;
  const LastChecks last_;
  const Clock::time_point begun_ = Clock::now();
  std::uint64_t answered_ = 0;  ///< When the last wait began. A search goes on where all it found was wrong.
  Clock::time_point waiting_since_;
  Clock::duration most_{};
  std::optional<Clock::time_point> end_;  ///< Of the last wait, once it has begun.
};

}  // namespace

std::unique_ptr<Archive> LastChecks::bounding(Archive& archive) const {
  return std::make_unique<BoundedArchive>(archive, *this);
}

}  // namespace evo::cli
