#include "evaluator/pipeline/model_pool.h"

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "evaluator/pipeline/binary_cache.h"

namespace evo {
namespace {

constexpr std::uint64_t kModule = 1;

}  // namespace

/// The two workers of one thread.
class ModelPool::Pair {
 public:
  Pair(const PipelineOptions& options, const StopSignal& stop)
      : options_(options),
        compiler_(worker_options(options, {"compile"}, &stop)),
        device_(worker_options(options, {"device", options.device.id}, &stop)) {}

  Result forecast(Job& job) {
    auto built = binary_of(job.compile);
    if (auto* failure = std::get_if<Failure>(&built)) return std::move(*failure);
    Binary& binary = std::get<Binary>(built);
    Build build = binary.build;
    job.load.binary = std::move(binary);
    auto loaded = ask<protocol::Done>(device_, std::move(job.load), options_.run_deadline_s, "loading");
    if (auto* failure = std::get_if<Failure>(&loaded)) return std::move(*failure);
    auto profiled = ask<protocol::Profiled>(device_, std::move(job.model), options_.run_deadline_s, "modelling");
    if (auto* failure = std::get_if<Failure>(&profiled)) return std::move(*failure);
    std::vector<LaunchProfile>& launches = std::get<protocol::Profiled>(profiled).launches;
    const double latency_us = duration_us(launches);
    return Forecast{latency_us, std::move(launches), std::move(build)};
  }

 private:
  std::variant<Binary, Failure> binary_of(const protocol::Compile& request) {
    if (std::optional<Binary> known = options_.binaries->find(request)) return *std::move(known);
    auto compiled = ask<protocol::Compiled>(compiler_, request, options_.compile_deadline_s, "compiling");
    if (auto* failure = std::get_if<Failure>(&compiled)) return std::move(*failure);
    Binary& binary = std::get<protocol::Compiled>(compiled).binary;
    options_.binaries->keep(request, binary);
    return std::move(binary);
  }

  template <typename T>
  std::variant<T, Failure> ask(WorkerClient& worker, protocol::Request request, double deadline_s,
                               const std::string& doing) {
    auto answer = worker.ask<T>(std::move(request), deadline_s);
    if (auto* good = std::get_if<T>(&answer)) return std::move(*good);
    if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
    if (const auto* lost = std::get_if<Lost>(&answer)) return Failure{verdict_of(*lost), doing + ": " + lost->reason};
    worker.stop();
    return Failure{Verdict::harness_failed, doing + ": " + std::get<protocol::Broken>(answer).message};
  }

  const PipelineOptions& options_;
  WorkerClient compiler_;
  WorkerClient device_;
};

ModelPool::ModelPool(PipelineOptions options, int workers) : options_(std::move(options)) {
  if (!options_.binaries) options_.binaries = std::make_shared<BinaryCache>();
  for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
}

ModelPool::~ModelPool() {
  stop_.raise();
  jobs_.close();
  for (std::thread& thread : threads_) thread.join();
}

std::future<ModelPool::Result> ModelPool::model(const Program& program, const std::string& shape, CaseRecipe recipe) {
  Job job{protocol::compile_request(program, options_.device.arch),
          {kModule, {}, {{shape, program.plans.at(shape)}}},
          {kModule, shape, std::move(recipe)},
          {}};
  std::future<Result> result = job.result.get_future();
  jobs_.push(std::move(job));
  return result;
}

void ModelPool::work() {
  // Worker processes belong to the thread that started them: they would die with another one.
  Pair workers(options_, stop_);
  while (std::optional<Job> job = jobs_.next()) {
    try {
      job->result.set_value(workers.forecast(*job));
    } catch (...) {
      job->result.set_exception(std::current_exception());
    }
  }
}

}  // namespace evo
