#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace evo {

/// The scale of each element of a quantised tensor: along each dim, equal groups of elements share one. The last group
/// may be shorter.
class ScaleGroups {
 public:
  /// A dim, innermost first: the elements of a step along it, its steps, those that share a scale, the scales of one.
  struct Axis {
    std::uint64_t step, dim, length, scale_step;
  };
  /// As many scale_dims as dims, each at least 1.
  ScaleGroups(std::span<const std::uint64_t> dims, std::span<const std::uint64_t> scale_dims) {
    std::uint64_t scales = 1, elements = 1;
    for (std::size_t i = dims.size(); i > 0; --i) {
      const std::uint64_t dim = dims[i - 1], groups = scale_dims[i - 1];
      axes_.push_back({elements, dim, (dim + groups - 1) / groups, scales});
      elements *= dim;
      scales *= groups;
    }
    count_ = scales;
  }
  std::uint64_t count() const { return count_; }
  const std::vector<Axis>& axes() const { return axes_; }
  std::uint64_t of(std::uint64_t element) const {
    std::uint64_t group = 0;
    for (const Axis& axis : axes_) group += element / axis.step % axis.dim / axis.length * axis.scale_step;
    return group;
  }
  /// visit(group, first element, end) for each run of elements from `begin` to `end` that share a scale, in order.
  template <typename Visit>
  void visit_runs(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    for (std::uint64_t i = begin; i < end;) {
      const std::uint64_t run_end = std::min(end, end_of_run(i));
      visit(of(i), i, run_end);
      i = run_end;
    }
  }

 private:
  /// Elements of one scale follow each other as far as the innermost dim that has several groups goes on in one.
  std::uint64_t end_of_run(std::uint64_t element) const {
    for (const Axis& axis : axes_) {
      if (axis.length >= axis.dim) continue;
      const std::uint64_t place = element / axis.step, in_dim = place % axis.dim;
      return (place - in_dim + std::min(axis.dim, (in_dim / axis.length + 1) * axis.length)) * axis.step;
    }
    return UINT64_MAX;
  }

  std::vector<Axis> axes_;
  std::uint64_t count_ = 1;
};

}  // namespace evo
