#include "evaluator/hosts/model_workers.h"

#include <cstdint>
#include <utility>

namespace evo {
namespace {

constexpr std::uint64_t kModelledModule = 1;
constexpr const char* kModelledShape = "modelled";

}  // namespace

ModelWorkers::ModelWorkers(const PipelineOptions& options, const StopSignal& stop)
    : options_(options),
      compiler_(options, &stop),
      device_(worker_options(options, {"device", options.device.id}, &stop)) {}

const std::string& ModelWorkers::open() {
  if (!options_.device.id.empty()) device_.start();
  compiler_.start();
  return compiler_.opened();
}

std::variant<Binary, Failure> ModelWorkers::compile(const protocol::Compile& request) {
  return compiler_.compile(request);
}

std::variant<protocol::Modelled, Failure> ModelWorkers::model(const protocol::Model& request) {
  auto built = compile(request.compile);
  if (auto* failure = std::get_if<Failure>(&built)) return std::move(*failure);
  protocol::Modelled modelled{std::move(std::get<Binary>(built)), {}};
  device_.start();
  protocol::Load load{kModelledModule, modelled.binary, {{kModelledShape, request.plan}}};
  auto loaded = ask<protocol::Done>(std::move(load), "loading");
  if (auto* failure = std::get_if<Failure>(&loaded)) {
    modelled.failure = std::move(*failure);
    return modelled;
  }
  protocol::ReadCounters wanted{kModelledModule, kModelledShape, request.recipe};
  auto profiled = ask<protocol::Profiled>(std::move(wanted), "modelling");
  if (auto* failure = std::get_if<Failure>(&profiled)) {
    modelled.failure = std::move(*failure);
  } else {
    modelled.launches = std::move(std::get<protocol::Profiled>(profiled).launches);
  }
  return modelled;
}

template <typename T>
std::variant<T, Failure> ModelWorkers::ask(protocol::Request request, const std::string& doing) {
  auto answer = device_.ask<T>(std::move(request), options_.run_deadline_s);
  if (auto* good = std::get_if<T>(&answer)) return std::move(*good);
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  if (const auto* lost = std::get_if<Lost>(&answer)) return Failure{verdict_of(*lost), doing + ": " + lost->reason};
  device_.stop();
  return Failure{Verdict::harness_failed, doing + ": " + std::get<protocol::Broken>(answer).message};
}

}  // namespace evo
