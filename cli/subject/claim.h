#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/subject/restore.h"
#include "engine/task/candidate.h"
#include "engine/task/evaluation.h"
#include "population/store/store.h"

namespace evo::cli {

/// Whose task says which answers are right.
enum class Contract : std::uint8_t {
  same,  ///< The one that the claim was made for, a candidate's own or one that is installed here as the file brings
         ///< it.
  installed,  ///< The one of the templates here: that of the file differs.
  brought,    ///< The file's own: there is none of its name here.
};

/// What is claimed of a kernel, and all that is needed to check it.
struct Claim {
  std::string origin;  ///< "candidate 17", "best.cu".
  Contract contract = Contract::same;
  bool edited = false;  ///< An exported file whose kernels are no longer those that were exported.
  SourceTree tree;
  Task task;
  Family family;
  Genome genome;
  Target target;
  std::vector<Program> programs;
  DeviceRecord device;
  double latency_us = 0;
  double worst_relative_l2 = 0;
  std::vector<Timing> timings;
};

/// "17" and "#17".
bool is_candidate_id(const std::string& text);

Claim claim_of(const Restored& restored);

/// An exported file may hold several kernels, each with its claim. Throws usage_error for what is none.
std::vector<Claim> exported_claims(const std::string& path);

/// Whether a file says that it was exported; nothing is checked.
bool looks_exported(const std::string& path);

}  // namespace evo::cli
