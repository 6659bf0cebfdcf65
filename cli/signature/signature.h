#pragma once

#include <functional>
#include <string>
#include <vector>

namespace evo::cli {

/// A fixed piece of evo's work and what it gives: genomes, verdicts, latencies, elites, in order. A part says the same
/// on every machine, with any number of cores and under any load, until the behaviour of evo changes.
struct SignaturePart {
  std::string name;
  std::function<std::vector<std::string>()> lines;  ///< Does the work. Throws what `evo run` throws.
};

/// Searches of three tasks on a virtual H200, planted faults, and searches of two recorded spaces. All but the last two
/// depend on the version of NVRTC, too. They read the templates and recordings that lie beside the executable, never
/// those of the working directory or of $EVO_TEMPLATES.
std::vector<SignaturePart> signature_parts();

/// Four hexadecimal digits.
std::string signature_of(const std::vector<std::string>& lines);

}  // namespace evo::cli
