#include "evaluator/hosts/compile_worker.h"

#include <optional>
#include <utility>
#include <vector>

#include "evaluator/hosts/binary_cache.h"
#include "evaluator/worker/worker.h"

namespace evo {
namespace {

PipelineOptions options_for(const DeviceInfo& device) {
  PipelineOptions options;
  options.device = device;
  options.compile_deadline_s *= 10;
  return options;
}

std::vector<std::string> role_of(const DeviceInfo& device, CompileWorker::Reads reads) {
  std::vector<std::string> role = {"compile", device.kind};
  if (reads == CompileWorker::Reads::what_user_may) role.emplace_back(kReadsAnywhere);
  return role;
}

std::string reason_of(const Lost& lost) {
  switch (lost.how) {
    case Lost::How::timed_out:
      return "compiling: " + lost.reason;
    case Lost::How::crashed:
      return "the compiler was " + lost.reason;
    default:
      return "the compile worker broke the protocol: " + lost.reason;
  }
}

}  // namespace

CompileWorker::CompileWorker(const PipelineOptions& options, const StopSignal* stop)
    : worker_(worker_options(options, {"compile", options.device.kind}, stop)),
      deadline_s_(options.compile_deadline_s),
      binaries_(options.binaries) {}

CompileWorker::CompileWorker(const DeviceInfo& device, Reads reads)
    : worker_(worker_options(options_for(device), role_of(device, reads), nullptr)),
      deadline_s_(options_for(device).compile_deadline_s) {}

std::string CompileWorker::version() {
  start();
  return opened().substr(opened().rfind(' ') + 1);
}

std::variant<Binary, Failure> CompileWorker::compile(const SourceRequest& request) {
  if (binaries_)
    if (std::optional<Binary> known = binaries_->find(request)) return *std::move(known);
  for (int attempt = 0;; ++attempt) {
    auto answer = worker_.ask<protocol::Compiled>(request, deadline_s_);
    if (auto* compiled = std::get_if<protocol::Compiled>(&answer)) {
      if (binaries_) binaries_->keep(request, compiled->binary);
      return std::move(compiled->binary);
    }
    if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
    if (const auto* lost = std::get_if<Lost>(&answer)) {
      if (lost->blameless && attempt == 0) continue;
      return Failure{verdict_of(*lost), reason_of(*lost)};
    }
    worker_.stop();
    return Failure{Verdict::harness_failed, "compiling: " + std::get<protocol::Broken>(answer).message};
  }
}

}  // namespace evo
