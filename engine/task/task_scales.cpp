#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/expression/json_place.h"
#include "engine/task/task.h"

namespace evo {
namespace {

constexpr std::size_t kMaxChoices = 1024;  ///< Combinations of options that are looked at when a task is read.

class ScaleCheck {
 public:
  ScaleCheck(const Task& task, const JsonPlace& root) : task_(task), root_(root) {}

  void run() const {
    for (const auto& [key, tensors] : {std::pair("inputs", &task_.inputs), std::pair("outputs", &task_.outputs)}) {
      const auto places = root_.find(key);
      for (std::size_t i = 0; i < tensors->size(); ++i) {
        const Tensor& tensor = (*tensors)[i];
        const JsonPlace place = places->items()[i];
        if (!tensor.any_of_equal.empty())
          require_known(place.at("any_of_equal"), "input", tensor.any_of_equal, names_of(task_.inputs));
        if (!tensor.zero_point.empty() && tensor.scale.empty())
          place.at("zero_point").fail("a tensor with zero points has a scale");
        if (tensor.scale.empty()) continue;
        const JsonPlace scale = place.at("scale");
        const std::string_view side = key == std::string_view("inputs") ? "input" : "output";
        require_known(scale, side, tensor.scale, names_of(*tensors));
        for (std::size_t other = 0; tensors == &task_.inputs && other < i; ++other)
          if ((*tensors)[other].scale == tensor.scale)
            scale.fail(fmt::format("'{}' has the scales of '{}' already", tensor.scale, (*tensors)[other].name));
        check_scale(scale, tensor, *task_.tensor(tensor.scale));
        if (tensor.zero_point.empty()) continue;
        const JsonPlace zero_point = place.at("zero_point");
        require_known(zero_point, side, tensor.zero_point, names_of(*tensors));
        check_zero_point(zero_point, tensor, *task_.tensor(tensor.zero_point));
      }
    }
  }

 private:
  /// Dims are expressions, so what they are is looked at for every shape and every choice of options.
  void check_scale(const JsonPlace& place, const Tensor& tensor, const Tensor& scale) const {
    if (!is_scale_dtype(scale.dtype))
      place.fail(fmt::format("scale '{}' must have dtype f32, f16, bf16, e4m3 or e8m0", scale.name));
    for_each_size(place, {&tensor, &scale}, [&](const Shape& shape, const Bindings& options, const Bindings& known) {
      if (!divides(dims_at(place, scale, known), dims_at(place, tensor, known))) {
        place.fail(fmt::format("the dims of '{}' must divide those of '{}' into equal groups{}", scale.name,
                               tensor.name, where(shape, options)));
      }
    });
  }

  void check_zero_point(const JsonPlace& place, const Tensor& tensor, const Tensor& zero_point) const {
    if (is_floating(parse_dtype(zero_point.dtype)))
      place.fail(fmt::format("zero point '{}' must be of integers", zero_point.name));
    const Tensor& scale = *task_.tensor(tensor.scale);
    for_each_size(place, {&zero_point, &scale},
                  [&](const Shape& shape, const Bindings& options, const Bindings& known) {
                    if (dims_at(place, zero_point, known) != dims_at(place, scale, known))
                      place.fail(fmt::format("the dims of '{}' must be those of '{}'{}", zero_point.name, scale.name,
                                             where(shape, options)));
                  });
  }

  static bool is_scale_dtype(const std::string& dtype) {
    static const std::vector<std::string> kScales = {"f32", "f16", "bf16", "e4m3", "e8m0"};
    return std::find(kScales.begin(), kScales.end(), dtype) != kScales.end();
  }

  template <typename Check>
  void for_each_size(const JsonPlace& place, const std::vector<const Tensor*>& tensors, Check check) const {
    for (const Bindings& options : choices(place, tensors)) {
      for (const Shape& shape : task_.shapes) {
        Bindings known = options;
        known.insert(shape.parameters.begin(), shape.parameters.end());
        check(shape, options, known);
      }
    }
  }

  /// A dim of d elements in s groups: groups of ceil(d / s) elements, the last of which is not empty.
  static bool divides(const std::vector<std::int64_t>& scale, const std::vector<std::int64_t>& tensor) {
    for (std::size_t i = 0; i < std::max(scale.size(), tensor.size()); ++i) {
      const std::int64_t s = i < scale.size() ? scale[i] : 1, d = i < tensor.size() ? tensor[i] : 1;
      const std::int64_t group = (d + s - 1) / s;
      if (s > d || (d + group - 1) / group != s) return false;
    }
    return true;
  }

  static std::vector<std::int64_t> dims_at(const JsonPlace& place, const Tensor& tensor, const Bindings& known) {
    try {
      return dims_of(tensor, known);
    } catch (const Error& error) {
      place.fail(error.what());
    }
  }

  static std::string where(const Shape& shape, const Bindings& options) {
    std::string text = fmt::format(" (shape {}", shape.name);
    for (const auto& [name, value] : options) text += fmt::format(", {}={}", name, expr::to_string(value));
    return text + ")";
  }

  /// Every combination of the options that the tensors' dims read.
  std::vector<Bindings> choices(const JsonPlace& place, const std::vector<const Tensor*>& tensors) const {
    std::vector<Bindings> all = {{}};
    for (const Option& option : task_.options) {
      if (!reads(tensors, option.name)) continue;
      std::vector<Bindings> extended;
      for (const Bindings& choice : all) {
        for (const Value& value : option.values) {
          extended.push_back(choice);
          extended.back()[option.name] = value;
        }
      }
      all = std::move(extended);
      if (all.size() > kMaxChoices) place.fail("the dims depend on too many options");
    }
    return all;
  }

  static bool reads(const std::vector<const Tensor*>& tensors, const std::string& option) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor* tensor) {
      return std::any_of(tensor->dims.begin(), tensor->dims.end(), [&](const Expression& dim) {
        const std::vector<std::string> names = dim.names();
        return std::find(names.begin(), names.end(), option) != names.end();
      });
    });
  }

  const Task& task_;
  const JsonPlace& root_;
};

}  // namespace

void check_scales(const Task& task, const JsonPlace& root) {
  ScaleCheck(task, root).run();
}

}  // namespace evo
