#include "cli/proposer/known_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/model/profile_report.h"
#include "cli/subject/json.h"
#include "cli/text/json_text.h"
#include "cli/text/result_text.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

constexpr std::size_t kLongestSource = 1 << 20;  // bytes of an elite's source
constexpr std::size_t kSlower = 6;               // that are told
constexpr std::size_t kLongestLineage = 8;
constexpr std::size_t kHotLines = 16;
constexpr std::size_t kLongestTold = 400;

/// The geometric mean over the timed shapes of floor over latency; empty: a floor or a timing is missing.
std::optional<double> share_of_floor(const std::map<std::string, double>& floors_us, const Evaluation& evaluation) {
  double logarithms = 0;
  std::size_t counted = 0;
  for (const Timing& timing : evaluation.timings) {
    const auto floor = floors_us.find(timing.shape);
    if (timing.cold || floor == floors_us.end() || timing.median_us <= 0) continue;
    logarithms += std::log(floor->second / timing.median_us);
    ++counted;
  }
  if (counted == 0 || counted < floors_us.size()) return std::nullopt;
  return std::exp(logarithms / static_cast<double>(counted));
}

/// The alleles in which a genome differs from another, {"tile_k": [64, 128]}, null for a gene that one has not; of
/// another family, its name.
Json changes_of(const Genome& from, const Genome& to) {
  if (from.family != to.family) return fmt::format("family {} -> {}", from.family, to.family);
  const auto value = [](const std::optional<Value>& allele) { return allele ? value_json(*allele) : Json(nullptr); };
  Json changes = Json::object();
  for (const GeneDifference& one : differences(from, to)) changes[one.gene] = {value(one.a), value(one.b)};
  return changes;
}

/// The files that the lines of a source come from: runs of lines that follow each other in both.
Json source_map(const Program& program) {
  Json runs = Json::array();
  const std::size_t lines = static_cast<std::size_t>(std::ranges::count(program.source, '\n'));
  for (std::size_t line = 1; line <= lines; ++line) {
    const auto origin = program.lines.origin_of(line);
    if (!origin) continue;
    if (!runs.empty()) {
      Json& last = runs.back();
      const auto length = last["lines"].get<std::size_t>();
      if (last["from"].get<std::size_t>() + length == line && last["file"] == origin->file &&
          last["at"].get<std::size_t>() + length == origin->line) {
        last["lines"] = length + 1;
        continue;
      }
    }
    runs.push_back({{"from", line}, {"lines", 1}, {"file", origin->file}, {"at", origin->line}});
  }
  return runs;
}

/// The files and the lines that take most of the time, each with its share.
void add_line_shares(const Program& program, const std::map<std::uint32_t, double>& shares, Json& elite) {
  std::map<std::string, double> files;
  std::vector<std::pair<double, std::uint32_t>> lines;
  for (const auto& [line, share] : shares) {
    const auto origin = program.lines.origin_of(line);
    if (origin) files[origin->file] += share;
    if (line > 0) lines.emplace_back(-share, line);
  }
  std::vector<std::pair<double, std::string>> by_share;
  for (const auto& [file, share] : files) by_share.emplace_back(-share, file);
  std::ranges::sort(by_share);
  std::ranges::sort(lines);
  if (lines.size() > kHotLines) lines.resize(kHotLines);
  elite["file_shares"] = Json::array();
  for (const auto& [share, file] : by_share) elite["file_shares"].push_back({{"file", file}, {"share", -share}});
  elite["line_shares"] = Json::array();
  for (const auto& [share, line] : lines) elite["line_shares"].push_back({{"line", line}, {"share", -share}});
}

}  // namespace

bool KnownCandidates::add(const Proposal& proposal, const Evaluation& evaluation) {
  const KernelBuild largest = largest_of(evaluation.builds);
  const double error = evaluation.worst_relative_l2;
  const std::optional<double> share = share_of_floor(floors_us_, evaluation);
  // Occupancy, and what bounds it where its counters were read.
  const std::string profile = residency_text(evaluation.residency) + bounds_text(evaluation.profiles);
  Valid valid{proposal.genome, proposal.op, proposal.note, proposal.parents, evaluation.latency_us, profile, {}, {}};
  valid.facts = {{"ticket", proposal.ticket},
                 {"genome", genome_json(proposal.genome)},
                 {"latency_us", evaluation.latency_us},
                 {"floor_share", or_null(share)},
                 {"relative_l2", std::isfinite(error) ? Json(error) : Json(nullptr)},
                 {"registers", largest.registers},
                 {"spill_bytes", largest.spill_bytes},
                 {"profile", profile}};
  valid.profiles = evaluation.profiles;
  if (!valid_.emplace(proposal.ticket, std::move(valid)).second) return false;
  const std::pair<double, std::uint64_t> place{evaluation.latency_us, proposal.ticket};
  const auto at = by_latency_.insert(std::ranges::upper_bound(by_latency_, place), place);
  return at - by_latency_.begin() < static_cast<std::ptrdiff_t>(kEliteCount);
}

std::vector<std::uint64_t> KnownCandidates::best_tickets() const {
  std::vector<std::uint64_t> tickets;
  for (const auto& [latency_us, ticket] : by_latency_) {
    if (tickets.size() == kEliteCount) break;
    tickets.push_back(ticket);
  }
  return tickets;
}

const Json& KnownCandidates::sources_of(std::uint64_t ticket, const Valid& valid, bool with_shares) {
  Json& known = sources_[{ticket, with_shares}];
  if (!known.is_null()) return known;
  known = Json::object();
  if (!build_) return known;
  const Candidate candidate = build_(valid.genome);
  if (!candidate.programs.empty() && candidate.programs.front().source.size() <= kLongestSource) {
    const Program& program = candidate.programs.front();
    known["source"] = program.source;
    known["source_map"] = source_map(program);
    known["programs"] = candidate.programs.size();
    if (with_shares && line_shares_) add_line_shares(program, line_shares_(candidate, valid.profiles), known);
  }
  if (!candidate.files.empty()) known["files"] = candidate.files;
  return known;
}

Json KnownCandidates::elites() {
  Json elites = Json::array();
  const std::vector<std::uint64_t> best = best_tickets();
  std::erase_if(sources_, [&](const auto& entry) { return std::ranges::find(best, entry.first.first) == best.end(); });
  for (const std::uint64_t ticket : best) {
    const Valid& valid = valid_.at(ticket);
    Json elite = valid.facts;
    elite.update(sources_of(ticket, valid, ticket == best.front()));
    elites.push_back(std::move(elite));
  }
  return elites;
}

Json KnownCandidates::slower() const {
  Json slower = Json::array();
  std::set<std::uint64_t> told;
  std::set<std::string> families, bounds;
  for (const std::uint64_t ticket : best_tickets()) {
    told.insert(ticket);
    families.insert(valid_.at(ticket).genome.family);
    bounds.insert(valid_.at(ticket).profile);
  }
  const auto tell = [&](std::uint64_t ticket) {
    const Valid& valid = valid_.at(ticket);
    const Genome& best = valid_.at(by_latency_.front().second).genome;
    if (slower.size() == kSlower || !told.insert(ticket).second) return;
    slower.push_back({{"ticket", ticket},
                      {"latency_us", valid.latency_us},
                      {"genome", genome_json(valid.genome)},
                      {"changes", changes_of(best, valid.genome)},
                      {"profile", clipped(valid.profile, kLongestTold)}});
  };
  for (const auto& [latency_us, ticket] : by_latency_)
    if (families.insert(valid_.at(ticket).genome.family).second) tell(ticket);
  for (const auto& [latency_us, ticket] : by_latency_)
    if (bounds.insert(valid_.at(ticket).profile).second) tell(ticket);
  return slower;
}

Json KnownCandidates::lineage() const {
  Json lineage = Json::array();
  if (by_latency_.empty()) return lineage;
  auto at = valid_.find(by_latency_.front().second);
  while (at != valid_.end() && lineage.size() < kLongestLineage) {
    const Valid& valid = at->second;
    const auto parent = valid.parents.empty() ? valid_.end() : valid_.find(valid.parents.front());
    Json step = {{"ticket", at->first}, {"latency_us", valid.latency_us}, {"operator", valid.op}};
    if (!valid.note.empty()) step["note"] = clipped(valid.note, kLongestTold);
    if (parent != valid_.end()) step["changes"] = changes_of(parent->second.genome, valid.genome);
    lineage.push_back(std::move(step));
    if (parent != valid_.end() && parent->first >= at->first) break;  // Parents are older.
    at = parent;
  }
  return lineage;
}

const Genome* KnownCandidates::genome_of(std::uint64_t ticket) const {
  const auto known = valid_.find(ticket);
  return known == valid_.end() ? nullptr : &known->second.genome;
}

std::optional<double> KnownCandidates::latency_of(std::uint64_t ticket) const {
  const auto known = valid_.find(ticket);
  return known == valid_.end() ? std::nullopt : std::optional(known->second.latency_us);
}

Candidate KnownCandidates::build(const Genome& genome) const {
  if (!build_) throw usage_error("there are no sources here");
  return build_(genome);
}

}  // namespace evo::cli
