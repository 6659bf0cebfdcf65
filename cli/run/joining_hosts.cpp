#include "cli/run/joining_hosts.h"

#include <fmt/format.h>
#include <poll.h>

#include <utility>

#include "cli/run/remote_hosts.h"
#include "cli/subject/lookup.h"
#include "cli/text/streams.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(2);  // at the file
constexpr auto kAskEvery = std::chrono::minutes(1);

}  // namespace

JoiningHosts::JoiningHosts(const RunRequest& request, const PreparedRun& run, DevicePipeline& pipeline,
                           ModelPool* models)
    : file_(request.hosts),
      list_(device_list(request)),
      pipeline_(pipeline),
      models_(models),
      known_(run.hosts.begin(), run.hosts.end()) {
  for (const std::string& prefix : run.absent_hosts) absent_.push_back({prefix, Clock::now() + kAskEvery, true});
  if (!file_.empty() || !absent_.empty()) thread_ = std::thread([this] { watch(); });
}

JoiningHosts::~JoiningHosts() {
  stop_.raise();
  if (thread_.joinable()) thread_.join();
}

void JoiningHosts::watch() {
  pollfd stopped{stop_.fd(), POLLIN, 0};
  while (::poll(&stopped, 1, static_cast<int>(std::chrono::milliseconds(kLookEvery).count())) <= 0) {
    find_new();
    std::vector<Absent> still_absent;
    for (Absent& host : absent_) {
      if (host.asked_next > Clock::now() || !ask(host)) still_absent.push_back(std::move(host));
    }
    absent_ = std::move(still_absent);
  }
}

void JoiningHosts::find_new() {
  if (file_.empty()) return;
  std::vector<std::string> named;
  try {
    named = read_hosts(file_);
  } catch (const Error&) {
    return;  // It may just be written.
  }
  std::multiset<std::string> unnamed = known_;
  for (const std::string& prefix : named) {
    if (const auto old = unnamed.find(prefix); old != unnamed.end()) {
      unnamed.erase(old);
      continue;
    }
    known_.insert(prefix);
    absent_.push_back({prefix, Clock::now()});
  }
}

bool JoiningHosts::ask(Absent& host) {
  try {
    const HostDevices found = devices_behind(host.prefix, list_, &stop_);
    const bool helps = !found.host.prefix.empty();
    if (found.devices.empty() && !helps) throw machine_error(fmt::format("{}: {}", host.prefix, found.why_none));
    std::vector<DeviceInfo> all = pipeline_.devices();
    all.insert(all.end(), found.devices.begin(), found.devices.end());
    try {
      check_alike(all);
    } catch (const Error& error) {
      throw machine_error(fmt::format("{}: {}", host.prefix, error.what()));
    }
    for (const DeviceInfo& device : found.devices) {
      pipeline_.join(device);
      tell(fmt::format("{} joins the run", called(device)));
    }
    if (helps && models_ != nullptr) models_->join(found.host);
    if (helps && models_ == nullptr) pipeline_.compile_on(found.host);
    if (found.devices.empty())
      tell(fmt::format("{} joins the run; it has no device and only {}: {}", host.prefix,
                       models_ != nullptr ? "models" : "compiles", found.why_none));
    return true;
  } catch (const Error& error) {
    host.asked_next = Clock::now() + kAskEvery;
    if (!std::exchange(host.told, true) && !stop_.raised())
      tell(fmt::format("the run goes on without {}; it is asked again every minute", error.what()));
    return false;
  }
}

}  // namespace evo::cli
