#include "evaluator/hosts/model_workers.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "evaluator/hosts/binary_cache.h"

namespace evo {
namespace {

constexpr std::uint64_t kModelledModule = 1;
constexpr const char* kModelledShape = "modelled";

}  // namespace

ModelWorkers::ModelWorkers(const PipelineOptions& options, const StopSignal& stop)
    : options_(options),
      compiler_(worker_options(options, {"compile", options.device.kind}, &stop)),
      device_(worker_options(options, {"device", options.device.id}, &stop)) {}

const std::string& ModelWorkers::open() {
  if (!options_.device.id.empty()) device_.start();
  compiler_.start();
  return compiler_.opened();
}

std::variant<Binary, Failure> ModelWorkers::compile(const protocol::Compile& request) {
  if (std::optional<Binary> known = options_.binaries->find(request)) return *std::move(known);
  compiler_.start();
  auto compiled = ask<protocol::Compiled>(compiler_, request, options_.compile_deadline_s, "compiling");
  if (auto* failure = std::get_if<Failure>(&compiled)) return std::move(*failure);
  Binary& binary = std::get<protocol::Compiled>(compiled).binary;
  options_.binaries->keep(request, binary);
  return std::move(binary);
}

std::variant<protocol::Modelled, Failure> ModelWorkers::model(const protocol::Model& request) {
  auto built = compile(request.compile);
  if (auto* failure = std::get_if<Failure>(&built)) return std::move(*failure);
  protocol::Modelled modelled{std::move(std::get<Binary>(built)), {}};
  device_.start();
  protocol::Load load{kModelledModule, modelled.binary, {{kModelledShape, request.plan}}};
  auto loaded = ask<protocol::Done>(device_, std::move(load), options_.run_deadline_s, "loading");
  if (auto* failure = std::get_if<Failure>(&loaded)) {
    modelled.failure = std::move(*failure);
    return modelled;
  }
  protocol::ReadCounters wanted{kModelledModule, kModelledShape, request.recipe};
  auto profiled = ask<protocol::Profiled>(device_, std::move(wanted), options_.run_deadline_s, "modelling");
  if (auto* failure = std::get_if<Failure>(&profiled)) {
    modelled.failure = std::move(*failure);
  } else {
    modelled.launches = std::move(std::get<protocol::Profiled>(profiled).launches);
  }
  return modelled;
}

template <typename T>
std::variant<T, Failure> ModelWorkers::ask(WorkerClient& worker, protocol::Request request, double deadline_s,
                                           const std::string& doing) {
  auto answer = worker.ask<T>(std::move(request), deadline_s);
  if (auto* good = std::get_if<T>(&answer)) return std::move(*good);
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  if (const auto* lost = std::get_if<Lost>(&answer)) return Failure{verdict_of(*lost), doing + ": " + lost->reason};
  worker.stop();
  return Failure{Verdict::harness_failed, doing + ": " + std::get<protocol::Broken>(answer).message};
}

}  // namespace evo
