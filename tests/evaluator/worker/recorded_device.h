#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace evo::testing {

/// A kind of device of the tests alone, called "recorded:FILE". Latencies come from a
/// recording, results from the fake device. evo itself has no code for it: recorded_device.cpp registers it like a
/// shipped kind, in the suite and in its worker process.
inline constexpr const char* kRecorded = "recorded";

/// Latencies in microseconds by the source of the program.
using LatencyRecording = std::map<std::string, double>;
void write_recording(const std::filesystem::path& file, const LatencyRecording& recording);

}  // namespace evo::testing
