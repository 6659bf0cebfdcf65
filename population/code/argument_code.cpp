#include "population/code/argument_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace evo {
namespace {

bool is_null(const ArgumentSpec& argument) {
  return argument.text == "null" || argument.text == "nullptr";
}

/// Rounded as the evaluator rounds it. The value is one that the type holds.
std::string converted(DType dtype, const std::string& value) {
  switch (dtype) {
    case DType::f16:
      return fmt::format("__double2half(static_cast<double>({}))", value);
    case DType::bf16:
      return fmt::format("__double2bfloat16(static_cast<double>({}))", value);
    case DType::e4m3:
      return fmt::format("__nv_cvt_float_to_fp8(static_cast<float>({}), __NV_SATFINITE, __NV_E4M3)", value);
    case DType::e5m2:
      return fmt::format("__nv_cvt_float_to_fp8(static_cast<float>({}), __NV_SATFINITE, __NV_E5M2)", value);
    case DType::e8m0:
      return fmt::format("static_cast<unsigned char>(std::ilogb(static_cast<double>({})) + 127)", value);
    default:
      return fmt::format("static_cast<{}>({})", host_type(dtype), value);
  }
}

/// "float argument_2" or, with two components and more, a struct as CUDA aligns vectors.
std::string declaration(const ValueType& type, const std::string& name) {
  if (type.components == 1) return fmt::format("{} {}", host_type(type.element), name);
  return fmt::format("struct alignas({}) {{ {} values[{}]; }} {}", type.alignment(), host_type(type.element),
                     type.components, name);
}

std::string initialiser(const FieldSpec& field, const WriteExpression& cpp) {
  std::vector<std::string> values;
  for (const Expression& component : field.components) values.push_back(converted(field.type.element, cpp(component)));
  if (values.size() == 1) return values.front();
  return fmt::format("{{{{{}}}}}", fmt::join(values, ", "));
}

/// The bounds of an integer type, or of the finite numbers of a floating type.
std::string bounds(DType dtype) {
  switch (dtype) {
    case DType::s32:
      return "-2147483647LL - 1, 2147483647LL";
    case DType::s64:
      return "-9223372036854775807LL - 1, 9223372036854775807LL";
    case DType::u64:
      return "0, 9223372036854775807LL";
    default: {
      const DTypeInfo& info = info_of(dtype);
      if (info.floating) return fmt::format("{:#.17g}, {:#.17g}", info.least, info.greatest);
      return fmt::format("{:.0f}, {:.0f}", info.least, info.greatest);
    }
  }
}

}  // namespace

std::string_view host_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "__half";
    case DType::bf16:
      return "__nv_bfloat16";
    case DType::e2m1:
    case DType::e8m0:
    case DType::e4m3:
    case DType::e5m2:
      return "unsigned char";
    default:
      return cuda_name_of(dtype);
  }
}

std::string declared_null(std::size_t index) {
  return fmt::format("    void* argument_{} = nullptr;\n", index);
}

std::string declared_argument(const ArgumentSpec& argument, std::size_t index, const WriteExpression& cpp) {
  if (is_null(argument)) return declared_null(index);
  const std::string name = fmt::format("argument_{}", index);
  if (!argument.is_struct) {
    const FieldSpec& field = argument.fields.front();
    return fmt::format("    {} = {};\n", declaration(field.type, name), initialiser(field, cpp));
  }
  std::string members;
  std::vector<std::string> values;
  for (std::size_t i = 0; i < argument.fields.size(); ++i) {
    const FieldSpec& field = argument.fields[i];
    members += fmt::format("      {};\n", declaration(field.type, fmt::format("field_{}", i)));
    values.push_back(initialiser(field, cpp));
  }
  return fmt::format("    struct {{\n{}    }} {} = {{{}}};\n", members, name, fmt::join(values, ", "));
}

std::vector<std::string> argument_conditions(const std::vector<ArgumentSpec>& arguments, const Bindings& known,
                                             const WriteExpression& cpp) {
  std::map<DType, std::vector<std::string>> values;
  for (const ArgumentSpec& argument : arguments) {
    if (is_null(argument)) continue;
    for (const FieldSpec& field : argument.fields) {
      const bool floating = is_floating(field.type.element);
      for (const Expression& component : field.components) {
        const bool plain = field.type.element == DType::s32;  // Sizes, as a rule: all are listed.
        if (!plain && component.evaluate_partially(known)) continue;
        const std::string value = cpp(component);
        values[field.type.element].push_back(floating ? fmt::format("static_cast<double>({})", value) : value);
      }
    }
  }
  std::vector<std::string> conditions;
  for (const auto& [dtype, all] : values) {
    conditions.push_back(fmt::format("{}({{{}}}, {})", is_floating(dtype) ? "within_reals" : "within",
                                     fmt::join(all, ", "), bounds(dtype)));
  }
  return conditions;
}

}  // namespace evo
