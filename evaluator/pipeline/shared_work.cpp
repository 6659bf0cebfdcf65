#include "evaluator/pipeline/shared_work.h"

#include <utility>

#include "engine/device/device_kind.h"
#include "evaluator/base/cores.h"
#include "evaluator/hosts/binary_cache.h"
#include "evaluator/pipeline/device_judging.h"
#include "evaluator/pipeline/evaluation_log.h"

namespace evo {
namespace {

/// To send so many bytes and compare them takes as long as to ask the device twice.
constexpr std::uint64_t kLargeOutputs = 4 << 20;

PipelineOptions with_defaults(PipelineOptions options) {
  if (options.run_deadline_s <= 0) options.run_deadline_s = kind_named(options.device.kind).run_deadline_s;
  if (options.judged_there_from == 0)
    options.judged_there_from = kind_named(options.device.kind).on_host ? UINT64_MAX : kLargeOutputs;
  if (!options.binaries) options.binaries = std::make_shared<BinaryCache>();
  return options;
}

}  // namespace

SharedWork::SharedWork(PipelineOptions given)
    : options(with_defaults(std::move(given))),
      calibration(load_calibration(options.tree, options.task)),
      plan(plan_cases(options.task, options.target, options.device.kind, options.salt)),
      judged_there(evo::judged_there(options, calibration, plan)),
      oracles(judged_there),
      compile_workers(options.compile_workers > 0 ? options.compile_workers : usable_cores()),
      pool(options, compile_workers, &stop),
      known(options.dedup),
      ranked(1e3 * options.device.clock_ghz) {
  for (const Finished& finished : options.finished) known.recall(finished);
}

void SharedWork::report(Evaluator::Done result) {
  result.evaluation.salt = options.salt;
  log_evaluation(result.ticket, result.evaluation);
  done.push_back(std::move(result));
  changed.notify_all();
}

}  // namespace evo
