#include "engine/task/argument.h"

#include <fmt/format.h>

#include <optional>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo {
namespace {

/// "float:1e-5" begins with a type; "a ? b : c" does not. Empty for an expression.
std::optional<FieldSpec> typed_field(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto type = type_named(trim(text.substr(0, colon)));
  if (!type) return std::nullopt;
  if (bits_of(type->element) < 8) throw usage_error(fmt::format("'{}': two {} share a byte", text, type->name()));
  FieldSpec field{*type, {}};
  for (const std::string_view part : split_outside_brackets(text.substr(colon + 1), ","))
    field.components.push_back(Expression::parse(part));
  if (field.components.size() != type->components) {
    throw usage_error(fmt::format("'{}': {} has {} values, {} were given", text, type->name(), type->components,
                                  field.components.size()));
  }
  return field;
}

Number number_of(const Expression& expression, DType dtype, const Bindings& known) {
  const Number number =
      is_floating(dtype) ? Number(expression.evaluate_real(known)) : Number(expression.evaluate_int(known));
  if (const std::string why = why_not_held(dtype, number); !why.empty())
    throw usage_error(fmt::format("'{}': {}", expression.text(), why));
  return number;
}

}  // namespace

bool is_variable_name(std::string_view text) {
  return is_kernel_name(text) && text.find('<') == std::string_view::npos;
}

ArgumentSpec parse_argument(std::string_view text) {
  ArgumentSpec argument;
  const std::string_view whole = trim(text);
  argument.text = whole;
  if (whole == "null" || whole == "nullptr") {
    argument.fields = {{{DType::u64, 1}, {Expression::constant(std::int64_t{0})}}};
    return argument;
  }
  if (whole.starts_with('{') && whole.ends_with('}')) {
    argument.is_struct = true;
    for (const std::string_view part : split_outside_brackets(whole.substr(1, whole.size() - 2), ";")) {
      auto field = typed_field(part);
      if (!field) throw usage_error(fmt::format("'{}' is not TYPE:VALUE", part));
      argument.fields.push_back(std::move(*field));
    }
    return argument;
  }
  if (auto field = typed_field(whole)) {
    argument.fields = {std::move(*field)};
    return argument;
  }
  argument.may_be_name = is_identifier(whole);
  argument.fields = {{{DType::s32, 1}, {Expression::parse(whole)}}};
  return argument;
}

std::vector<Scalar> evaluate(const ArgumentSpec& argument, const Bindings& known) {
  std::vector<Scalar> scalars;
  for (const FieldSpec& field : argument.fields) {
    Scalar& scalar = scalars.emplace_back(Scalar{field.type, {}});
    for (const Expression& component : field.components)
      scalar.components.push_back(number_of(component, field.type.element, known));
  }
  return scalars;
}

}  // namespace evo
