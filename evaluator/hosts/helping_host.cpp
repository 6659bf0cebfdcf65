#include "evaluator/hosts/helping_host.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "evaluator/hosts/binary_cache.h"
#include "evaluator/hosts/compile_worker.h"
#include "evaluator/hosts/helping_server.h"
#include "evaluator/worker/process.h"

namespace evo {
namespace {

constexpr double kEver = 1e9;  // seconds
/// Beyond the deadlines that the host keeps by itself, in seconds.
constexpr double kGrace = 60;

/// Whether the same program might have ended otherwise on another machine.
bool may_be_the_hosts_doing(const Failure& failure) {
  return failure.verdict == Verdict::crashed || failure.verdict == Verdict::timed_out;
}

std::vector<std::string> role_of(const ModelJob*, const PipelineOptions& options) {
  return models_role(options);
}
std::vector<std::string> role_of(const CompileJob*, const PipelineOptions& options) {
  return compiles_role(options);
}

PipelineOptions options_there(PipelineOptions options, const OtherHost& host) {
  options.device.host = host.name;
  options.device.reached_by = host.prefix;
  options.device.program = host.program;
  return options;
}

/// What two compilers must build alike.
protocol::Compile sample(const std::string& arch) {
  return {"extern \"C\" __global__ void sample(float* x) { x[threadIdx.x] *= 3.0f; }", arch, 0, {"sample"}};
}

/// The first lines of PTX name the build of its compiler. (Later ones name the folder in which it ran.)
std::string_view builder_of(const Binary& binary) {
  return std::string_view(binary.ptx).substr(0, binary.ptx.find(".version"));
}

}  // namespace

template <typename Job>
HelpingHost<Job>::HelpingHost(OtherHost host, const PipelineOptions& options, JobQueue<Job>& jobs,
                              const StopSignal& stop)
    : host_(std::move(host)), options_(options), jobs_(jobs), stop_(stop), thread_([this] { work(); }) {}

template <typename Job>
HelpingHost<Job>::~HelpingHost() {
  thread_.join();
}

template <typename Job>
void HelpingHost<Job>::say(const std::string& what) const {
  if (options_.notice) options_.notice(fmt::format("{} {}", host_.name, what));
}

template <typename Job>
void HelpingHost<Job>::work() {
  pollfd stopped{stop_.fd(), POLLIN, 0};
  do {
    try {
      return serve();
    } catch (const Stopped&) {
      for (auto& [id, one] : under_way_) one.job.result.set_exception(std::current_exception());
      return;
    } catch (const std::exception& error) {
      for (auto& [id, one] : under_way_) give_back(std::move(one.job));
      under_way_.clear();
      if (!std::exchange(absent_, true))
        say(fmt::format("{} nothing for now, others do its work: {}", Job::kDoes, error.what()));
    }
  } while (::poll(&stopped, 1, static_cast<int>(options_.return_s * 1e3)) == 0);
}

/// Returns when the host is of no use to this run. Throws Error when it is lost.
template <typename Job>
void HelpingHost<Job>::serve() {
  // The worker belongs to this thread: it would die with another one.
  WorkerClient there(
      worker_options(options_there(options_, host_), role_of(static_cast<const Job*>(nullptr), options_), &stop_));
  there.start();
  if (const std::string why = why_unlike(there); !why.empty())
    return say(fmt::format("{} nothing: {}", Job::kDoes, why));
  if (std::exchange(absent_, false)) say(fmt::format("{} again", Job::kDoes));
  const double most_s = options_.compile_deadline_s + 2 * options_.run_deadline_s + kGrace;
  while (true) {
    wake_.clear();
    take_jobs(there);
    double left_s = kEver;
    if (!under_way_.empty()) {
      const std::chrono::duration<double> waited = Clock::now() - under_way_.begin()->second.sent;
      left_s = std::max(0.0, most_s - waited.count());
    }
    auto received = there.receive_any(wake_, left_s);
    if (!received) continue;
    if (const auto* lost = std::get_if<Lost>(&*received)) throw machine_error(lost->reason);
    auto& answer = std::get<WorkerClient::Answer>(*received);
    finish(std::move(under_way_.extract(answer.id).mapped().job), std::move(answer.reply));
  }
}

/// Why the compiler there is not the one here; empty: it is.
template <typename Job>
std::string HelpingHost<Job>::why_unlike(WorkerClient& there) const {
  CompileWorker here(options_, &stop_);
  here.start();
  const protocol::Compile both = sample(options_.device.arch);
  const auto built_here = here.compile(both);
  const auto built_there = there.ask<protocol::Compiled>(both, options_.compile_deadline_s);
  if (const auto* lost = std::get_if<Lost>(&built_there)) throw machine_error(lost->reason);
  const auto* ours = std::get_if<Binary>(&built_here);
  const auto* theirs = std::get_if<protocol::Compiled>(&built_there);
  if (ours == nullptr || theirs == nullptr) throw machine_error("a compiler does not compile a kernel of one line");
  const bool alike =
      builder_of(*ours) == builder_of(theirs->binary) && ours->build.cubin_hash == theirs->binary.build.cubin_hash;
  if (alike && here.opened() == there.opened()) return "";
  return fmt::format("{} is there, {}{} here; install the same one", there.opened(),
                     here.opened() == there.opened() ? "another build of " : "", here.opened());
}

template <typename Job>
void HelpingHost<Job>::take_jobs(WorkerClient& there) {
  while (under_way_.size() < there.at_once()) {
    std::optional<Job> job = jobs_.take_if([](const Job& one) { return !one.tried_elsewhere; });
    if (!job) return;
    std::uint64_t id = 0;
    try {
      id = there.send(job->request);
    } catch (...) {
      give_back(*std::move(job));
      throw;
    }
    under_way_.emplace(id, UnderWay{*std::move(job), Clock::now()});
  }
}

template <typename Job>
void HelpingHost<Job>::finish(Job job, protocol::Reply reply) {
  auto* answer = std::get_if<typename Job::Answer>(&reply);
  auto* failed = std::get_if<protocol::Failed>(&reply);
  const Failure* failure = failed != nullptr ? &failed->failure : nullptr;
  if (answer != nullptr) failure = Job::failure_in(*answer);
  const bool broken = answer == nullptr && failed == nullptr;
  if (broken || (failure != nullptr && failure->verdict == Verdict::harness_failed)) {
    const std::string why = broken ? protocol::complaint_of(reply) : failure->reason;
    give_back(std::move(job));
    throw machine_error(why);
  }
  if (failure != nullptr && may_be_the_hosts_doing(*failure)) return give_back(std::move(job));
  ++done_;
  if (answer == nullptr) return job.result.set_value(std::move(failed->failure));
  options_.binaries->keep(job.program(), answer->binary);
  job.result.set_value(Job::result_of(std::move(*answer)));
}

template <typename Job>
void HelpingHost<Job>::give_back(Job job) {
  job.tried_elsewhere = true;
  jobs_.give_back(std::move(job));
}

template <typename Job>
HelpingHosts<Job>::HelpingHosts(const PipelineOptions& options, JobQueue<Job>& jobs, const StopSignal& stop)
    : options_(options), jobs_(jobs), stop_(stop) {}

template <typename Job>
void HelpingHosts<Job>::join(const OtherHost& host) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::none_of(hosts_, [&](const auto& one) { return one->host().prefix == host.prefix; }))
    hosts_.push_back(std::make_unique<HelpingHost<Job>>(host, options_, jobs_, stop_));
}

template <typename Job>
void HelpingHosts<Job>::wake() {
  const std::lock_guard lock(mutex_);
  for (const auto& host : hosts_) host->wake();
}

template <typename Job>
std::vector<HostShare> HelpingHosts<Job>::shares(std::uint64_t here) const {
  std::vector<HostShare> shares = {{this_host(), here}};
  const std::lock_guard lock(mutex_);
  for (const auto& host : hosts_) shares.push_back({host->host().name, host->done()});
  return shares;
}

template class HelpingHost<ModelJob>;
template class HelpingHost<CompileJob>;
template class HelpingHosts<ModelJob>;
template class HelpingHosts<CompileJob>;

}  // namespace evo
