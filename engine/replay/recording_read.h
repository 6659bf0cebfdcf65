#pragma once

#include <string>
#include <string_view>

#include "engine/replay/recording.h"

namespace evo {

/// A recorded space from the text of a results file. The format is recognised by its content:
/// - Kernel Tuner cache: times in milliseconds; failures as error names; the closing brackets, and the end of the last
///   entry, may be missing, as the file is appended to while tuning;
/// - T4 results: the unit of its metadata ("miliseconds" too), times.compilation or times.compilation_time;
/// - KTT results: the unit of its metadata;
/// - CSV: genes, then status (ok, compile, runtime, invalid, ...), time_ms, ..., compile_ms, bench_ms.
///
/// Of entries with equal genes the first counts. Throws usage_error naming `name`, the entry and the reason.
Recording read_recording(std::string_view text, const std::string& name);

}  // namespace evo
