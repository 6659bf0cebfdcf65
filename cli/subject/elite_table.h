#pragma once

#include <string>
#include <vector>

#include "cli/text/terminal.h"
#include "population/store/store.h"

namespace evo::cli {

/// "fp8_sdpa on vgpu:h200 (NVIDIA H200, modelled): latency mission out=f16".
std::string elite_heading(const EliteRow& row);

/// The elites of one task, device and objective as a table: rank, id, latency with its 95 % interval where it was
/// measured at one shape, error, registers, genome. A line below has the genes that all elites of a family share.
std::string elite_table(const std::vector<EliteRow>& rows, const Terminal& terminal);

/// The front of a board as a table under its heading; empty without one.
std::string front_text(const std::vector<EliteRow>& rows, const Terminal& terminal);

/// The 95 % interval of the latency at the only timed shape; empty for a modelled one and for a mean over shapes.
std::string interval_text(const EliteRow& row);

/// The rows in the store's order, grouped by task hash, device and objective.
std::vector<std::vector<EliteRow>> by_key(const std::vector<EliteRow>& rows);

}  // namespace evo::cli
