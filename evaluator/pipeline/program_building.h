#pragma once

#include <string>
#include <vector>

#include "engine/task/candidate.h"
#include "evaluator/device/device.h"
#include "evaluator/hosts/compile_pool.h"
#include "evaluator/pipeline/candidate_job.h"

namespace evo {

/// Candidates with the same key do the same work: their programs are the same machine code, launched in the same way.
/// `builds`: one for each program.
std::string key_of_builds(const Candidate& candidate, const std::vector<Build>& builds);

/// Asks for the job's programs.
void start_compiling(CandidateJob& job, CompilePool& pool, const DeviceInfo& device);

/// Waits for the programs and checks each. The verdict of `job.built` is `valid` when all may be run.
void finish_building(CandidateJob& job, const DeviceInfo& device);

/// The programs of a candidate that compiled before. Throws machine_error when one does not compile.
std::vector<Binary> binaries_of(const Candidate& candidate, CompilePool& pool, const DeviceInfo& device);

}  // namespace evo
