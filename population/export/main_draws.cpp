#include "population/export/main_draws.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/expression/expression_cpp.h"
#include "engine/record/enumerators.h"
#include "population/code/specialised.h"
#include "population/code/text.h"

namespace evo {
namespace {

/// The enumerators of Draw in main_types.cuh.
std::string_view draw_name(DrawKind kind) {
  if (kind == DrawKind::indices) return "integers";
  return kind == DrawKind::automatic || kind == DrawKind::unset ? "bits" : enumerator_name(kind);
}

std::string number_text(const Task& task, const Bindings& options, const Expression& number) {
  const std::optional<Value> known = number.evaluate_partially(options);
  if (known && std::holds_alternative<std::string>(*known)) {
    const std::string name = expr::to_string(*known);
    return name == "nan" ? "NAN" : name == "inf" ? "INFINITY" : "-INFINITY";
  }
  return fmt::format("static_cast<double>({})", expr::to_cpp(number, options, written_parameters(task)));
}

}  // namespace

std::string main_draw(const Task& task, const Bindings& options, const Tensor& tensor, std::size_t index) {
  std::vector<std::string> numbers;
  for (const Expression& number : tensor.draw.numbers) numbers.push_back(number_text(task, options, number));
  std::string_view name = draw_name(tensor.draw.kind);
  const DTypeInfo& info = info_of(dtype_of(tensor, options));
  if (tensor.draw.kind == DrawKind::constant && numbers.empty()) numbers = {"0.0"};
  if (tensor.draw.kind == DrawKind::indices) numbers = {"0.0", numbers.at(0) + " - 1"};
  const bool automatic = tensor.draw.kind == DrawKind::automatic || tensor.draw.kind == DrawKind::non_negative;
  const bool half = tensor.draw.kind == DrawKind::non_negative && info.least < 0;
  if (!info.floating && automatic && (half || info.dtype == DType::boolean)) {
    name = "integers";
    numbers = {"0.0", fmt::format("{:.1f}", info.greatest)};
  } else if (!info.floating && automatic) {
    name = "bits";
  }
  std::string code = fmt::format("  tensors[{}].draw = Draw::{};\n", index, name);
  if (!numbers.empty()) code += fmt::format("  tensors[{}].numbers = {{{}}};\n", index, fmt::join(numbers, ", "));
  if (tensor.draw.kind == DrawKind::file) {
    code += fmt::format("  tensors[{0}].file = file_{0};\n  tensors[{0}].file_bytes = sizeof file_{0};\n", index);
  }
  return code;
}

std::string main_draw_file(const Task& task, const Draw& draw, std::size_t index) {
  std::string_view data = task.files.at(draw.path);
  if (data.starts_with("\x93NUMPY") && data.size() > 12) {
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(data[at])); };
    const std::size_t header =
        byte(6) == 1 ? 10 + byte(8) + 256 * byte(9) : 12 + byte(8) + 256 * byte(9) + 65536 * byte(10);
    data.remove_prefix(std::min(header, data.size()));
  }
  std::vector<std::string> bytes;
  for (const char c : data) bytes.push_back(std::to_string(static_cast<unsigned char>(c)));
  return comment_safe(fmt::format("// {}", draw.path)) + "\n" +
         wrapped(fmt::format("const unsigned char file_{}[] = {{", index), bytes, "};");
}

}  // namespace evo
