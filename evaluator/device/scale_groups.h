#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace evo {

/// The scale of each element of a quantised tensor: along each dim, equal groups of elements share one, the last of
/// which may be shorter.
class ScaleGroups {
 public:
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
  std::uint64_t of(std::uint64_t element) const {
    std::uint64_t group = 0;
    for (const Axis& axis : axes_) group += element / axis.step % axis.dim / axis.length * axis.scale_step;
    return group;
  }

 private:
  struct Axis {
    std::uint64_t step, dim, length, scale_step;
  };
  std::vector<Axis> axes_;
  std::uint64_t count_ = 1;
};

}  // namespace evo
