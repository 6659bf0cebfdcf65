#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/subject/claim.h"
#include "cli/subject/tried_shapes.h"
#include "engine/result/elite_check.h"
#include "evaluator/hosts/pipeline_options.h"

namespace evo::cli {

/// The virtual GPU that watches kernels of a device: itself, or a model of its architecture. Empty: there is none.
std::optional<DeviceInfo> watching_device(const DeviceRecord& device);

/// Whether a verdict says that a kernel is wrong: not that its device, the machine or the time did not suffice.
bool is_wrong(Verdict verdict);

/// Judges kernels further than a search has time for, on one device:
///
/// - "sanitiser", where the device sanitises: every validated shape, or a small one like it, is watched; a kernel that
///   was made by edits is watched in all regimes and must be at all shapes;
/// - "sizes": shapes that nobody listed (tried_shapes.h), and listed ones of other specialisations, for which the
///   kernel is rendered anew. What the device refuses to launch there, or the reference to compute, is said and not
///   held against the kernel.
///
/// What one kernel needs, such as the answers of the reference, is kept for the next. Used by one thread. Every call
/// throws Stopped (worker_client.h) once the options' `stop` is set.
class FurtherTrials {
 public:
  struct Options {
    DeviceInfo device;
    int device_threads = 0;  ///< As in PipelineOptions.
    std::shared_ptr<BinaryCache> binaries = nullptr;
    const std::atomic<bool>* stop = nullptr;       ///< As in PipelineOptions.
    std::vector<std::string> worker_command = {};  ///< Likewise.
    /// Told how many shapes of a check are judged, before each. May be empty.
    std::function<void(std::size_t judged, std::size_t all)> progress = {};
  };
  explicit FurtherTrials(Options options);
  ~FurtherTrials();
  FurtherTrials(const FurtherTrials&) = delete;
  FurtherTrials& operator=(const FurtherTrials&) = delete;

  /// Ends with the first finding. Throws where the machine fails.
  CheckedElite judge(const Claim& claim);
  EliteCheck watch(const Claim& claim, std::optional<EliteFinding>& finding);
  EliteCheck try_sizes(const Claim& claim, std::optional<EliteFinding>& finding);

 private:
  class Group;
  struct Judged {
    std::vector<std::string> shapes;  ///< That the kernel was right at.
    std::vector<std::string> left_out;
    std::optional<EliteFinding> finding;
  };

  /// Shapes that had their draws when the kernel was validated, and others.
  enum class Draws : std::uint8_t { watched, watched_in_all_regimes, tried };
  Group& group(Draws draws, const Claim& claim, std::vector<TriedShape> shapes);
  Judged judge_at(Draws draws, const Claim& claim, std::vector<Program> programs, std::vector<TriedShape> shapes);
  Judged judge_other_specialisations(const Claim& claim);

  Options options_;
  std::map<std::string, std::unique_ptr<Group>> groups_;
};

}  // namespace evo::cli
