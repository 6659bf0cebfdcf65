#include "cli/run/joining_hosts.h"

#include <condition_variable>
#include <future>
#include <mutex>

#include "tests/announcement.h"
#include "tests/cli/bench.h"
#include "tests/cli/run/idle_pipeline.h"

using namespace evo;
using evo::testing::Announcement;

namespace {

/// A pipeline that only notes what joins it.
class Joined : public testing::IdlePipeline {
 public:
  explicit Joined(DeviceInfo first) : devices_{std::move(first)} {}

  void join(const DeviceInfo& device) override {
    const std::lock_guard lock(mutex_);
    devices_.push_back(device);
    changed_.notify_all();
  }
  std::vector<DeviceInfo> devices() const override {
    const std::lock_guard lock(mutex_);
    return devices_;
  }
  void wait_until_there_are(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return devices_.size() >= count; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<DeviceInfo> devices_;
};

struct WatchedRun {
  testing::Bench folder;
  cli::RunRequest request;
  cli::PreparedRun run;

  WatchedRun() {
    request.hosts = folder / "hosts";
    request.devices = "vgpu:h200";
    run.device = cli::find_device("vgpu:h200");
    run.hosts = {"here"};
    add("here");
  }
  void add(const std::string& prefix) const { std::ofstream(request.hosts, std::ios::app) << prefix << '\n'; }
};

}  // namespace

TEST_CASE("a host that is added to the file joins the run, as often as it is named") {
  const WatchedRun watched;
  Joined pipeline(watched.run.device);
  const cli::JoiningHosts joining(watched.request, watched.run, pipeline, nullptr);
  watched.add("here");
  watched.add("here");
  pipeline.wait_until_there_are(3);
  CHECK(pipeline.devices().back().id == "vgpu:h200");
}

TEST_CASE("a host of another model stays out") {
  WatchedRun watched;
  const Announcement answered;
  watched.run.device = cli::find_device("vgpu:l4");
  Joined pipeline(watched.run.device);
  {
    const cli::JoiningHosts joining(watched.request, watched.run, pipeline, nullptr);
    watched.add("sh -c '\"$0\" \"$@\"; echo >" + answered.path() + "'");
    answered.wait();
  }
  CHECK(pipeline.devices().size() == 1);
}

TEST_CASE("a host that is being asked holds up no run that ends") {
  const WatchedRun watched;
  const Announcement asked;
  Joined pipeline(watched.run.device);
  const cli::JoiningHosts joining(watched.request, watched.run, pipeline, nullptr);
  watched.add("sh -c 'echo >" + asked.path() + "; sleep 1000000'");
  asked.wait();
}
