#include "cli/subject/export_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/sources/shadowing.h"
#include "cli/subject/best_rival.h"
#include "cli/text/result_text.h"
#include "engine/base/demangled.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc_compiler.h"

namespace evo::cli {
namespace {

/// Throws usage_error for a candidate that is not valid.
void refuse_invalid(const CandidateRow& row) {
  const Evaluation& evaluation = row.evaluation;
  if (evaluation.verdict == Verdict::valid) return;
  throw usage_error(fmt::format("candidate {} is not valid ({}{}): export one that evo elites lists", row.id,
                                name_of(evaluation.verdict),
                                reason_text(evaluation).empty() ? "" : fmt::format(": {}", reason_text(evaluation))));
}

/// Throws usage_error for an architecture that is no word: it stands in commands for people to run.
void refuse_odd_arch(const std::string& arch) {
  const auto is_plain = [](char c) { return is_identifier_character(c); };
  const bool has_number = arch.find_first_of("0123456789") != std::string::npos;
  if (!has_number || !std::ranges::all_of(arch, is_plain))
    throw usage_error(
        fmt::format("the database names no architecture of a GPU but '{}': evo db check finds what is wrong", arch));
}

/// The compiler's flags without the architecture and the register cap, which differ between programs.
std::vector<std::string> common_flags(const Evaluation& evaluation, const std::string& arch) {
  const bool known = !evaluation.builds.empty() && !evaluation.builds.front().flags.empty();
  std::vector<std::string> flags = known ? split(evaluation.builds.front().flags, ' ') : compile_options(arch, 0);
  std::erase_if(flags, [](const std::string& flag) {
    return flag.starts_with("--gpu-architecture") || flag.starts_with("--maxrregcount");
  });
  return flags;
}

std::set<std::string> cooperative_kernels(const std::vector<Build>& builds) {
  std::set<std::string> found;
  for (const Build& build : builds)
    for (const auto& [ptx_name, kernel] : build.kernels)
      if (kernel.cooperative) found.insert(bare_kernel_name(readable_kernel_name(ptx_name)));
  return found;
}

}  // namespace

ExportRequest export_request(const Restored& restored) {
  refuse_invalid(restored.row);
  const RunInfo& info = restored.run.info;
  refuse_odd_arch(info.device.arch);
  const Evaluation& evaluation = restored.row.evaluation;
  ExportRequest request;
  request.files = restored.files;
  request.task = restored.task;
  request.family = restored.family;
  request.programs = stored_programs(restored.row);
  request.references = references_of(restored.files, restored.task, info.target, request.programs);
  request.cooperative = cooperative_kernels(evaluation.builds);
  request.remark = shadowing_remark(info.task, info.task_hash);
  request.provenance = {.task = info.task,
                        .task_hash = info.task_hash,
                        .genome = restored.row.genome,
                        .target = info.target,
                        .device = info.device,
                        .objective = info.objective,
                        .latency_us = evaluation.latency_us,
                        .worst_relative_l2 = evaluation.worst_relative_l2,
                        .timings = evaluation.timings,
                        .salt = info.salt,
                        .run = restored.run.id,
                        .candidate = restored.row.id,
                        .evo_version = info.evo_version,
                        .nvrtc_version = info.nvrtc_version,
                        .compile_flags = common_flags(evaluation, info.device.arch),
                        .day = restored.run.started_at.substr(0, std::string_view("2026-11-30").size()),
                        .rivals = best_rival_text(restored.row.sittings, info.device)};
  for (Timing& timing : request.provenance.timings) timing.samples_us.clear();
  return request;
}

}  // namespace evo::cli
