#include "cli/subject/tried_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/task/floor.h"

namespace evo::cli {
namespace {

using Sizes = std::set<std::int64_t>;

/// Alleles of these sizes are tiles and blocks; smaller ones are vectors and unrolled steps.
constexpr std::int64_t kSmallestTile = 8, kLargestTile = 1024;
constexpr std::size_t kMostTiles = 6;
constexpr std::int64_t kPowers[] = {8, 32, 128, 1024};
/// What all shapes cost at most, in units of what one may.
constexpr double kAllWork = 2;
/// A part of what one may cost: most shapes cost no more.
constexpr double kCheap = 0.02;
/// 16-bit counts and grids end there.
constexpr std::int64_t kHuge[] = {(1 << 15) + 1, (1 << 16) + 1};

std::int64_t size_of(const Shape& shape, const std::string& parameter) {
  return std::get<std::int64_t>(shape.parameters.at(parameter));
}

/// The shapes of a target, timed ones first.
std::vector<Shape> listed_shapes(const Target& target) {
  std::vector<Shape> shapes = target.timed;
  for (const Shape& shape : target.validated)
    if (std::ranges::find(shapes, shape.name, &Shape::name) == shapes.end()) shapes.push_back(shape);
  return shapes;
}

/// Alleles of the family's genes: candidates of one family are tried at the same shapes.
Sizes tiles_of(const Family& family) {
  Sizes tiles;
  for (const Gene& gene : family.genes) {
    for (const Value& allele : gene.alleles) {
      const auto* size = std::get_if<std::int64_t>(&allele);
      if (size != nullptr && *size >= kSmallestTile && *size <= kLargestTile) tiles.insert(*size);
    }
  }
  while (tiles.size() > kMostTiles) tiles.erase(tiles.begin());
  return tiles;
}

Sizes breaking_sizes(const Family& family) {
  Sizes sizes = {1};
  for (const std::int64_t tile : tiles_of(family)) sizes.insert({tile - 1, tile + 1});
  for (const std::int64_t power : kPowers) sizes.insert({power - 1, power + 1});
  sizes.insert(std::begin(kHuge), std::end(kHuge));
  return sizes;
}

class Trials {
 public:
  Trials(const Task& task, const Target& target, std::string_view kind, double most_work)
      : task_(task), target_(target), kind_(kind_named(kind)), most_work_(most_work), listed_(listed_shapes(target)) {
    std::ranges::stable_sort(listed_, std::greater(), [&](const Shape& shape) { return work(shape); });
    for (const Shape& shape : task.shapes) known_.insert(spelled(task, shape));
    for (const Shape& shape : listed_) known_.insert(spelled(task, shape));
    for (const std::string& parameter : task.shape_parameters)
      if (varies(parameter)) varied_.push_back(parameter);
  }

  std::vector<TriedShape> all(const Family& family) {
    const Sizes sizes = breaking_sizes(family);
    for (const std::string& parameter : varied_)
      for (const std::int64_t size : sizes) vary(parameter, size);
    for (const Shape& base : listed_)
      if (make_odd(base)) break;
    keep_affordable();
    return std::move(tried_);
  }

 private:
  /// A size that all listed shapes share is fixed, unless the task's `requires` speaks of it.
  bool varies(const std::string& parameter) const {
    if (task_.is_specialised(parameter)) return false;
    if (std::ranges::count(task_.legal.names(), parameter) > 0) return true;
    std::set<std::int64_t> sizes;
    for (const Shape& shape : task_.shapes) sizes.insert(size_of(shape, parameter));
    for (const Shape& shape : listed_) sizes.insert(size_of(shape, parameter));
    return sizes.size() > 1;
  }

  double work(const Shape& shape) const { return work_of(task_, target_.options, shape, kind_); }

  bool is_affordable(const Shape& shape, double most_work) const {
    try {
      return is_legal(task_, target_.options, shape) && work(shape) <= most_work;
    } catch (const Error&) {
      return false;  // Its tensors do not fit each other.
    }
  }

  /// The parameter has this size in the largest listed shape that stays cheap, or else all others are 1.
  void vary(const std::string& parameter, std::int64_t size) {
    std::vector<Shape> bases = listed_;
    bases.push_back(least_of(listed_.front()));
    for (Shape& shape : bases) shape.parameters.insert_or_assign(parameter, size);
    for (const double most_work : {kCheap * most_work_, most_work_}) {
      const auto found = std::ranges::find_if(bases, [&](const Shape& one) { return is_affordable(one, most_work); });
      if (found != bases.end()) return add(std::move(*found), excluding(parameter, size));
    }
  }

  Shape least_of(Shape shape) const {
    for (const std::string& parameter : varied_) shape.parameters[parameter] = std::int64_t{1};
    return shape;
  }

  /// The cheapest, which together cost little more than one may.
  void keep_affordable() {
    std::ranges::stable_sort(tried_, {}, [&](const TriedShape& one) { return work(one.shape); });
    double sum = 0;
    std::erase_if(tried_, [&](const TriedShape& one) { return (sum += work(one.shape)) > kAllWork * most_work_; });
  }

  bool make_odd(const Shape& base) {
    Shape shape = base;
    std::int64_t more = 0;
    if (varied_.empty()) return true;
    for (const std::string& parameter : varied_)
      shape.parameters[parameter] = (size_of(shape, parameter) | 1) + (more += 2);
    if (!is_affordable(shape, kCheap * most_work_)) return false;
    add(std::move(shape), "");
    return true;
  }

  void add(Shape shape, std::string exclude) {
    shape.name = spelled(task_, shape);
    if (known_.insert(shape.name).second) tried_.push_back({std::move(shape), std::move(exclude)});
  }

  /// What all listed sizes have in common and this one has not.
  std::string excluding(const std::string& parameter, std::int64_t size) const {
    std::int64_t least = size_of(listed_.front(), parameter), most = least, divisor = 0;
    const auto count = [&](const Shape& shape) {
      const std::int64_t listed = size_of(shape, parameter);
      least = std::min(least, listed);
      most = std::max(most, listed);
      divisor = std::gcd(divisor, listed);
    };
    for (const Shape& shape : task_.shapes) count(shape);
    for (const Shape& shape : listed_) count(shape);
    if (divisor > 1 && size % divisor != 0) return fmt::format("{} % {} == 0", parameter, divisor);
    if (size > most) return fmt::format("{} <= {}", parameter, most);
    if (size < least) return fmt::format("{} >= {}", parameter, least);
    return fmt::format("{} != {}", parameter, size);
  }

  const Task& task_;
  const Target& target_;
  const DeviceKind& kind_;
  const double most_work_;
  std::vector<Shape> listed_;  ///< The largest first.
  std::set<std::string> known_;
  std::vector<std::string> varied_;
  std::vector<TriedShape> tried_;
};

/// Half of a size. One that a power of two divides stays a multiple of up to 64.
std::int64_t half_of(std::int64_t size) {
  std::int64_t step = 1;
  while (step < 64 && size % (2 * step) == 0 && size > 2 * step) step *= 2;
  return std::max(step, (size / 2 + step - 1) / step * step);
}

std::optional<Shape> cut_down(const Task& task, const Bindings& options, Shape shape, const DeviceKind& kind,
                              double most_work) {
  std::set<std::string> fixed(task.specialised.begin(), task.specialised.end());
  while (work_of(task, options, shape, kind) > most_work) {
    std::string largest;
    for (const auto& [parameter, size] : shape.parameters) {
      if (!fixed.contains(parameter) && size_of(shape, parameter) > 1 &&
          (largest.empty() || size_of(shape, parameter) > size_of(shape, largest)))
        largest = parameter;
    }
    if (largest.empty()) return std::nullopt;
    Shape smaller = shape;
    const std::int64_t half = half_of(size_of(shape, largest));
    smaller.parameters.insert_or_assign(largest, half);
    if (half < size_of(shape, largest) && is_legal(task, options, smaller))
      shape = std::move(smaller);
    else
      fixed.insert(largest);
  }
  return shape;
}

}  // namespace

std::vector<TriedShape> tried_shapes(const Task& task, const Target& target, const Family& family,
                                     std::string_view device_kind, double most_work) {
  return Trials(task, target, device_kind, most_work).all(family);
}

std::vector<Shape> small_shapes(const Task& task, const Target& target, std::string_view device_kind, double most_work,
                                std::vector<std::string>& left_out) {
  const DeviceKind& kind = kind_named(device_kind);
  std::vector<Shape> shapes;
  std::set<std::string> seen;
  for (const Shape& shape : listed_shapes(target)) {
    std::optional<Shape> small = cut_down(task, target.options, shape, kind, most_work);
    if (!small) {
      left_out.push_back(shape.name);
      continue;
    }
    if (small->parameters != shape.parameters) small->name = shape.name + " cut to " + spelled(task, *small);
    if (seen.insert(spelled(task, *small)).second) shapes.push_back(*std::move(small));
  }
  return shapes;
}

std::string spelled(const Task& task, const Shape& shape) {
  std::string text;
  for (const std::string& parameter : task.shape_parameters)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", parameter, size_of(shape, parameter));
  return text;
}

}  // namespace evo::cli
