#include "evaluator/pipeline/lane_roll.h"

namespace evo {

void LaneRoll::add() {
  ++lanes_;
  ++serving_;
}

bool LaneRoll::enter(std::size_t lane) {
  if (left_.erase(lane) == 0) {
    ++opened_;
    return false;
  }
  ++serving_;
  return true;
}

bool LaneRoll::leave(std::size_t lane, const std::exception_ptr& why, bool open, bool may_be_missing) {
  if (!left_.emplace(lane, why).second) return false;
  if (--serving_ == 0) fatal_ = why;
  if (open) return true;
  ++unopened_;
  if (opening_ && !open_error_ && (fatal_ || !may_be_missing)) open_error_ = why;
  return true;
}

void LaneRoll::end_opening() {
  if (open_error_) std::rethrow_exception(open_error_);
  opening_ = false;
}

}  // namespace evo
