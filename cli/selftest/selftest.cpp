#include "cli/selftest/selftest.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>

#include "cli/selftest/planted.h"
#include "cli/subject/lookup.h"
#include "cli/text/result_text.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

bool is_right(const SelftestRow& row, const std::string& kind) {
  const std::vector<Verdict>& expected = row.mutant.expected.at(kind);
  return std::ranges::find(expected, row.verdict) != expected.end() &&
         row.reason.find(row.mutant.says) != std::string::npos;
}

/// Submits mutants of one choice of options and objective and collects their verdicts.
class Selftest {
 public:
  Selftest(const SourceTree& tree, const Task& task, const DeviceInfo& device, const Bindings& options,
           const std::string& objective, std::uint64_t salt)
      : tree_(tree),
        task_(task),
        device_(device),
        salt_(salt),
        target_(make_self_test_target(task, device.kind, options, objective)),
        space_(make_space(tree, task, device, target_, "")) {}

  std::vector<SelftestRow> run(const std::vector<Mutant>& mutants) {
    std::vector<SelftestRow> rows;
    for (const Mutant& mutant : mutants) rows.push_back({.mutant = mutant, .reason = ""});
    const std::unique_ptr<Evaluator> pipeline = open();
    std::size_t in_flight = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (in_flight == pipeline->width()) in_flight -= finish(*pipeline, rows);
      in_flight += submit(*pipeline, i, rows[i]);
    }
    while (in_flight > 0) in_flight -= finish(*pipeline, rows);
    return rows;
  }

 private:
  std::unique_ptr<Evaluator> open() const {
    PipelineOptions options;
    options.task = task_;
    options.tree = tree_;
    options.target = target_;
    options.device = device_;
    options.salt = salt_;
    options.dedup = false;  // Each gets a verdict of its own.
    if (!kind_named(device_.kind).on_host) options.run_deadline_s = kMutantDeadlineS;
    return make_pipeline(std::move(options));
  }

  std::size_t submit(Evaluator& pipeline, std::size_t number, SelftestRow& row) const {
    if (!row.mutant.expected.contains(device_.kind)) return 0;
    const std::optional<Planted> planted = plant(tree_, task_, space_, row.mutant);
    if (!planted) return 0;
    pipeline.submit(number, make_candidate(planted->tree, task_, planted->family, planted->genome, target_,
                                           facts_of(device_.limits)));
    return 1;
  }

  std::size_t finish(Evaluator& pipeline, std::vector<SelftestRow>& rows) const {
    Evaluator::Done done = pipeline.wait();
    SelftestRow& row = rows.at(done.ticket);
    row.checked = true;
    row.verdict = done.evaluation.verdict;
    row.reason = reason_text(done.evaluation);
    row.right = is_right(row, device_.kind);
    return 1;
  }

  const SourceTree& tree_;
  const Task& task_;
  const DeviceInfo& device_;
  std::uint64_t salt_;
  Target target_;
  Space space_;
};

/// Rows in the order of the mutants.
std::vector<SelftestRow> evaluate_all(const SourceTree& tree, const Task& task, const DeviceInfo& device,
                                      const std::vector<Mutant>& mutants, std::uint64_t salt) {
  std::map<std::pair<Bindings, std::string>, std::vector<std::size_t>> by_target;
  for (std::size_t i = 0; i < mutants.size(); ++i) by_target[{mutants[i].options, mutants[i].objective}].push_back(i);
  std::vector<SelftestRow> rows(mutants.size());
  for (const auto& [target, numbers] : by_target) {
    const auto& [options, objective] = target;
    std::vector<Mutant> some;
    for (const std::size_t number : numbers) some.push_back(mutants[number]);
    std::vector<SelftestRow> finished = Selftest(tree, task, device, options, objective, salt).run(some);
    for (std::size_t i = 0; i < numbers.size(); ++i) rows[numbers[i]] = std::move(finished[i]);
  }
  return rows;
}

}  // namespace

bool SelftestResult::passed() const {
  const auto shown = [&](bool valid) {
    return std::ranges::any_of(rows, [&](const SelftestRow& row) {
      return row.checked && row.right && (row.verdict == Verdict::valid) == valid;
    });
  };
  return wrong() == 0 && shown(true) && shown(false);
}

SelftestResult run_selftest(const SourceTree& tree, const Task& task, const DeviceInfo& device,
                            const std::vector<std::string>& only, std::uint64_t salt) {
  const std::vector<Mutant> mutants = load_mutants(tree, task);
  if (mutants.empty()) {
    throw usage_error(fmt::format(
        "task {} has no mutants: the templates have no {}/mutants/FAMILY.json (docs/trust.md)", task.name, task.name));
  }
  return {.task = task.name,
          .task_hash = task.hash,
          .device = device,
          .salt = salt,
          .rows = evaluate_all(tree, task, device, chosen(mutants, only), salt)};
}

}  // namespace evo::cli
