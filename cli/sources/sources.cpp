#include "cli/sources/sources.h"

#include <fmt/format.h>

namespace evo::cli {

std::string specialisation_text(const Bindings& specialisation) {
  std::string text;
  for (const auto& [name, value] : specialisation) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, expr::to_string(value));
  }
  return text;
}

std::string all_sources(const CandidateRow& row) {
  std::string text;
  for (const StoredProgram& program : row.programs) {
    if (row.programs.size() > 1) text += fmt::format("// ---- {} ----\n", specialisation_text(program.specialisation));
    text += program.source;
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  return text;
}

}  // namespace evo::cli
