#pragma once

#include <cstddef>
#include <exception>
#include <map>

namespace evo {

/// Which lanes of a pipeline serve, which have left and why, and whether that ends the pipeline. A lane is known by its
/// number. The pipeline's mutex guards it.
class LaneRoll {
 public:
  /// One more lane, whose device is not open yet.
  void add();
  /// A lane's device is open. True: the lane had left before.
  bool enter(std::size_t lane);
  /// A lane's device is of no more use. `open`: it was. `may_be_missing`: the pipeline opens without it, too. False:
  /// the lane has not been back since it left before.
  bool leave(std::size_t lane, const std::exception_ptr& why, bool open, bool may_be_missing);

  /// Lanes that have not left.
  std::size_t serving() const { return serving_; }
  bool has_left(std::size_t lane) const { return left_.contains(lane); }
  /// Why a lane has left.
  const std::exception_ptr& why_left(std::size_t lane) const { return left_.at(lane); }

  /// Whether each device is open or is known not to open; or one has failed that must open.
  bool has_opened() const { return opened_ + unopened_ == lanes_ || open_error_; }
  /// Throws why the pipeline cannot open. From now on a device may be missing.
  void end_opening();

  /// Why no lane serves any more; else null.
  const std::exception_ptr& fatal() const { return fatal_; }
  /// Whether the pipeline has ended or cannot open.
  bool is_over() const { return fatal_ || open_error_; }

 private:
  std::size_t lanes_ = 0;
  std::size_t serving_ = 0;
  std::size_t opened_ = 0;
  std::size_t unopened_ = 0;
  std::map<std::size_t, std::exception_ptr> left_;
  bool opening_ = true;
  std::exception_ptr open_error_;
  std::exception_ptr fatal_;
};

}  // namespace evo
