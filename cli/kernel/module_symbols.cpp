#include "cli/kernel/module_symbols.h"

#include <fmt/format.h>

#include <utility>
#include <variant>
#include <vector>

#include "engine/base/demangled.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo::cli {
namespace {

/// "int:5" as a buffer of one element: "int[1]:{5}".
std::string as_buffer(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (text.find('[') < colon || colon == std::string::npos) return text;
  return fmt::format("{}[1]:{{{}}}", text.substr(0, colon), text.substr(colon + 1));
}

/// Texts and tables that the compiler made have names that C++ has not.
bool is_of_source(const std::string& name) {
  return name.find('$') == std::string::npos && !name.starts_with('.') && !name.starts_with("__");
}

}  // namespace

BufferSpec parse_symbol(const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto refuse = [&](const std::string& why) { throw usage_error(fmt::format("--symbol {}: {}", text, why)); };
  if (equals == 0 || equals == std::string::npos) refuse("expected NAME=TYPE:VALUE or NAME=TYPE[SIZES]:FILLING");
  try {
    ArgumentSpec parsed = parse_argument("value=" + as_buffer(text.substr(equals + 1)), 0);
    if (auto* spec = std::get_if<BufferSpec>(&parsed)) {
      spec->name = trim(std::string_view(text).substr(0, equals));
      return std::move(*spec);
    }
  } catch (const Error& error) {
    std::string why = error.what();
    if (const std::size_t end = why.find("': "); end != std::string::npos) why = why.substr(end + 3);
    refuse(why);
  }
  refuse("expected NAME=TYPE:VALUE or NAME=TYPE[SIZES]:FILLING");
  return {};
}

const vgpu::DeclaredVariable& variable_named(std::span<const vgpu::DeclaredVariable> variables, const std::string& name,
                                             const std::string& file) {
  const vgpu::DeclaredVariable* found = nullptr;
  std::vector<std::string> names;
  for (const vgpu::DeclaredVariable& variable : variables) {
    const std::string cpp = demangled(variable.name);
    if (is_of_source(cpp)) names.push_back(cpp);
    if (variable.name != name && cpp != name && !cpp.ends_with("::" + name)) continue;
    if (found != nullptr)
      throw usage_error(fmt::format("--symbol {}: {} has several variables of that name", name, file));
    found = &variable;
  }
  if (found != nullptr) return *found;
  throw usage_error(fmt::format("--symbol {}: {} has no such variable (compilers leave out what no kernel uses){}",
                                name, file, names.empty() ? "" : "; there are: " + list_of(names)));
}

}  // namespace evo::cli
