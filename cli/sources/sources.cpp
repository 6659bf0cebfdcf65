#include "cli/sources/sources.h"

#include <fmt/format.h>

#include "cli/text/format.h"

namespace evo::cli {

std::string all_sources(const CandidateRow& row) {
  std::string text;
  for (const StoredProgram& program : row.programs) {
    if (row.programs.size() > 1) text += fmt::format("// ---- {} ----\n", bindings_text(program.specialisation));
    text += program.source;
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  return text;
}

}  // namespace evo::cli
