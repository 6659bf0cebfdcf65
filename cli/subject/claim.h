#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/subject/restore.h"
#include "engine/result/evaluation.h"
#include "engine/task/candidate.h"
#include "evaluator/device/device.h"
#include "population/store/store.h"

namespace evo::cli {

/// Which task a claim is checked against: it says which answers are right.
enum class Contract : std::uint8_t {
  same,       ///< The task of the claim. An exported file's task is also the installed one.
  installed,  ///< The installed task. The exported file's own differs.
  brought,    ///< The exported file's own task. None of that name, sizes and options is installed.
};

/// The claimed latency and error of a kernel, with everything that is needed to check them.
struct Claim {
  std::string origin;  ///< "candidate 17", "best.cu".
  Contract contract = Contract::same;
  std::string launcher;   ///< The name of an exported file's launcher; empty for a stored candidate.
  bool edited = false;    ///< The kernels of an exported file have changed since the export.
  bool by_edits = false;  ///< A search made it by edits of another kernel's source.
  SourceTree tree;
  Task task;
  std::string task_hash;  ///< Of the task that the kernel was found for; a file holds a part of its files.
  Family family;
  Genome genome;
  Target target;
  std::vector<Program> programs;
  DeviceRecord device;
  double latency_us = 0;
  double worst_relative_l2 = 0;
  std::vector<Timing> timings;
  std::uint64_t salt = 0;  ///< Of the inputs that it was timed on; 0: unknown.
};

/// "17" and "#17".
bool is_candidate_id(const std::string& text);

Claim claim_of(const Restored& restored);

/// The claimed kernel, with plans for the target's shapes.
Candidate candidate_of(const Claim& claim, const Target& target);

/// The device that was asked for; the claim's own, or one of its model; or else "auto".
DeviceInfo device_for(const Claim& claim, const std::string& asked);

/// The claims of a stored candidate, by its number, or of an exported file.
std::vector<Claim> claims_of(const std::string& subject, const std::string& database);

/// The claims of an exported file, one for each of its kernels. Throws usage_error for any other file.
std::vector<Claim> exported_claims(const std::string& path);

/// Whether a file has the header of an export. Nothing else is checked.
bool looks_exported(const std::string& path);

}  // namespace evo::cli
