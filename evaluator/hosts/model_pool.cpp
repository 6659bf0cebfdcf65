#include "evaluator/hosts/model_pool.h"

#include <exception>
#include <optional>
#include <utility>

#include "evaluator/base/cores.h"
#include "evaluator/hosts/binary_cache.h"
#include "evaluator/hosts/model_workers.h"

namespace evo {

ModelPool::ModelPool(PipelineOptions options, int workers) : options_(std::move(options)) {
  if (!options_.binaries) options_.binaries = std::make_shared<BinaryCache>();
  options_.device.reached_by.clear();
  for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
}

ModelPool::~ModelPool() {
  stop_.raise();
  jobs_.close();
  for (std::thread& thread : threads_) thread.join();
}

std::future<ModelPool::Result> ModelPool::model(const Program& program, const std::string& shape, CaseRecipe recipe) {
  ModelJob job{{compile_request(program, options_.device.arch), program.plans.at(shape), std::move(recipe)}, {}};
  std::future<Result> result = job.result.get_future();
  jobs_.push(std::move(job));
  hosts_.wake();
  return result;
}

void ModelPool::work() {
  yield_cores();  // Candidates that a GPU evaluates wait for this process: for comparing their outputs.
  // Worker processes belong to the thread that started them: they would die with another one.
  ModelWorkers workers(options_, stop_);
  while (std::optional<ModelJob> job = jobs_.next()) {
    try {
      auto answer = workers.model(job->request);
      auto* modelled = std::get_if<protocol::Modelled>(&answer);
      ++modelled_;
      job->result.set_value(modelled ? result_of(std::move(*modelled)) : std::move(std::get<Failure>(answer)));
    } catch (...) {
      job->result.set_exception(std::current_exception());
    }
  }
}

}  // namespace evo
