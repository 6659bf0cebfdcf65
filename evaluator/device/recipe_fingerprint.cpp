#include "evaluator/device/recipe_fingerprint.h"

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace evo {
namespace {

template <typename T>
concept PlainValue = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// The bytes of fields, one after another. What may differ in length is preceded by its length.
class FieldBytes {
 public:
  template <typename... Fields>
  void add_all(const Fields&... fields) {
    (add(fields), ...);
  }

  std::string take() { return std::move(bytes_); }

 private:
  template <PlainValue T>
  void add(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(const std::string& text) {
    add(text.size());
    bytes_ += text;
  }
  void add(const Number& number) {
    add(static_cast<std::uint8_t>(number.index()));
    std::visit([this](auto value) { add(value); }, number);
  }
  void add(const InputStep& step) { add_all(step.step, step.amount, step.share, step.stream); }
  template <typename T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <typename T>
  void add(const std::vector<T>& values) {
    add(values.size());
    for (const T& value : values) add(value);
  }

  std::string bytes_;
};

}  // namespace

std::string fingerprint(const CaseRecipe& recipe) {
  FieldBytes bytes;
  bytes.add_all(recipe.seed, recipe.repeating, recipe.perturbed, recipe.inputs.size());
  for (const InputRecipe& input : recipe.inputs) {
    const auto& [name, dtype, elements, row, matrix, group, distribution, gain, stream, scale, is_computed, zero_point,
                 draw, numbers, content, dims, scale_dims, strides, widened, unit_scale, is_lesser, steps] = input;
    bytes.add_all(name, dtype, elements, row, matrix, group, distribution, gain, stream, scale, is_computed, zero_point,
                  draw, numbers, content, dims, scale_dims, strides, widened, unit_scale, is_lesser, steps);
  }
  return bytes.take();
}

}  // namespace evo
