#pragma once

#include <string>

#include "population/results/results.h"

namespace evo {

/// Comma-separated values (RFC 4180), one line for each genome: genes..., status (ok, compile, runtime, invalid),
/// time_ms, std_ms, compile_ms, bench_ms, verdict; of several timed shapes also time_NAME_ms for each. An inactive gene
/// has its parameter's first value. The file does not describe itself, so there is no reader.
std::string csv_text(const Results& results);

}  // namespace evo
