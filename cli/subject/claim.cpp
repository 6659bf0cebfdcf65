#include "cli/subject/claim.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "cli/subject/arguments.h"
#include "cli/subject/lookup.h"
#include "cli/text/files.h"
#include "engine/base/error.h"
#include "engine/edits/source_edit.h"
#include "population/export/read_export.h"

namespace evo::cli {
namespace {

constexpr std::uintmax_t kLargestClaimBytes = 16 << 20;

std::string read_export_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw usage_error(fmt::format("'{}' is neither a candidate's number nor a file", path));
  }
  if (std::filesystem::file_size(path, error) > kLargestClaimBytes) {
    throw usage_error(fmt::format("{} is too large to be an exported kernel", path));
  }
  return read_file(path, kLargestClaimBytes);
}

Claim exported_claim(Exported exported, std::string origin) {
  const Provenance& provenance = exported.provenance;
  Claim claim{.origin = std::move(origin),
              .launcher = exported.launcher,
              .edited = exported.edited,
              .by_edits = false,
              .tree = exported.tree,
              .task = load_task(exported.tree, provenance.task),
              .task_hash = provenance.task_hash,
              .family = {},
              .genome = provenance.genome,
              .target = provenance.target,
              .programs = std::move(exported.programs),
              .device = provenance.device,
              .latency_us = provenance.latency_us,
              .worst_relative_l2 = provenance.worst_relative_l2,
              .timings = provenance.timings,
              .salt = provenance.salt};
  claim.family = find_family(claim.tree, claim.task, claim.genome.family);
  return claim;
}

}  // namespace

bool is_candidate_id(const std::string& text) {
  return all_digits(std::string_view(text).substr(text.starts_with('#') ? 1 : 0));
}

Claim claim_of(const Restored& restored) {
  const Evaluation& evaluation = restored.row.evaluation;
  return {.origin = fmt::format("candidate {}", restored.row.id),
          .launcher = {},
          .edited = false,
          .by_edits = edit_list_in(restored.row.files).has_value(),
          .tree = restored.files,
          .task = restored.task,
          .task_hash = restored.task.hash,
          .family = restored.family,
          .genome = restored.row.genome,
          .target = restored.run.info.target,
          .programs = stored_programs(restored.row),
          .device = restored.run.info.device,
          .latency_us = evaluation.latency_us,
          .worst_relative_l2 = evaluation.worst_relative_l2,
          .timings = evaluation.timings,
          .salt = evaluation.salt};
}

std::vector<Claim> exported_claims(const std::string& path) {
  std::vector<Exported> kernels = read_exports(read_export_file(path), path);
  const bool several = kernels.size() > 1;
  std::vector<Claim> claims;
  for (Exported& kernel : kernels) {
    const CandidateId candidate = kernel.provenance.candidate;
    claims.push_back(
        exported_claim(std::move(kernel), several ? fmt::format("{}, candidate {}", path, candidate) : path));
  }
  return claims;
}

Candidate candidate_of(const Claim& claim, const Target& target) {
  return with_plans(claim.tree, claim.task, claim.family, claim.genome, claim.programs, target, claim.device.facts);
}

DeviceInfo device_for(const Claim& claim, const std::string& asked) {
  if (!asked.empty()) return find_device(asked);
  if (const auto found = find_again(claim.device)) return found->device;
  return find_device("auto");
}

std::vector<Claim> claims_of(const std::string& subject, const std::string& database) {
  if (!is_candidate_id(subject)) return exported_claims(subject);
  return {claim_of(restore(Store::open(database, Store::Mode::read), parse_id("candidate", subject)))};
}

bool looks_exported(const std::string& path) {
  return holds_export(read_export_file(path));
}

}  // namespace evo::cli
