// The worker process of the tests. `evo_test_worker fake ROLE...` serves with fake tools, `real ROLE...` with those of
// the registered kinds of devices, `draws_other_numbers ROLE...` and `dies_once=FILE ROLE...` with a spoilt one of
// those. Every other mode breaks the protocol in its own way.

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "evaluator/hosts/devices.h"
#include "evaluator/hosts/helping_server.h"
#include "evaluator/pipeline/pipeline.h"
#include "evaluator/worker/channel.h"
#include "evaluator/worker/process.h"
#include "evaluator/worker/protocol.h"
#include "fake_tools.h"
#include "spoilt_device.h"

namespace {

using namespace evo;
using evo::testing::SpoiltDevice;

/// A minimal worker: reports that it is ready, then calls `then` with each request.
class Rogue {
 public:
  Rogue() : channel_(UniqueFd(kWorkerSocket), UniqueFd(), nullptr) { become_worker(); }

  void say(std::uint64_t id, protocol::Reply reply) {
    channel_.send(protocol::encode(protocol::ReplyMessage{id, std::move(reply)}), std::nullopt);
  }
  std::uint64_t hear() {
    protocol::Frame frame;
    if (channel_.receive(frame, std::nullopt, protocol::kMaxProgramBytes) != TransferEnd::complete) std::exit(0);
    return protocol::decode_request(frame).id;
  }

 private:
  Channel channel_;
};

void write_raw(const std::string& bytes) {
  if (::write(kWorkerSocket, bytes.data(), bytes.size()) < 0) std::exit(1);
}

/// Stops this process. Returns in a child, when that has been done.
void await_stopped_parent() {
  if (::fork() != 0) {
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  const std::string file = "/proc/" + std::to_string(::getppid()) + "/stat";
  for (char state = 0; state != 'T';) {
    std::ifstream stat(file);
    std::string line;
    std::getline(stat, line);
    if (line.empty()) ::_exit(0);  // It has been killed.
    state = line[line.rfind(')') + 2];
  }
}

int misbehave(const std::string& mode) {
  if (mode == "never_ready") ::pause();
  if (mode == "dies_at_start") std::abort();
  Rogue worker;
  if (mode == "broken") {
    worker.say(0, protocol::Broken{"no such device on this machine"});
    return 3;
  }
  worker.say(0, protocol::Ready{"rogue"});
  const std::uint64_t id = worker.hear();
  if (mode == "dies_before_start") return 0;
  if (mode == "never_starts") ::pause();
  if (mode == "answers_at_once") worker.say(id, protocol::Done{});
  if (mode == "garbage") write_raw(std::string(4096, 'x'));
  if (mode == "wrong_id") worker.say(id + 1, protocol::Started{});
  if (mode == "huge") {
    const auto header = protocol::encode_header({16, std::uint64_t{1} << 60});
    write_raw(std::string(header.begin(), header.end()));
  }
  if (mode == "stops") await_stopped_parent();  // Once it has stopped, its child says that it begins.
  worker.say(id, protocol::Started{});
  if (mode == "stops") ::_exit(0);
  if (mode == "starts_twice") worker.say(id, protocol::Started{});
  if (mode == "exits_silently") return 0;
  if (mode == "answers_once") {
    worker.say(id, protocol::Done{});
    return 0;
  }
  if (mode == "hangs") ::pause();
  if (mode == "says_why") {
    std::fputs("first line\nassertion failed: tile > 0\n", stderr);
    std::abort();
  }
  if (mode == "half_a_frame") {
    const auto header = protocol::encode_header({100, 0});
    write_raw(std::string(header.begin(), header.end()) + "half");
  }
  if (mode == "not_cbor") {
    const auto header = protocol::encode_header({4, 0});
    write_raw(std::string(header.begin(), header.end()) + "\xff\xff\xff\xff");
  }
  if (mode == "floods_stderr") {
    const std::string line(1000, 'e');
    for (int i = 0; i < 1000; ++i) std::fprintf(stderr, "%s\n", line.c_str());
    worker.say(id, protocol::Done{});
  }
  worker.hear();
  return 0;
}

/// Behind each run of a kernel of the judge's, by its name.
WorkerTools spoilt_tools(const std::string& kernel, const SpoiltDevice::Spoil& spoil) {
  const auto open = [=](const std::string& id, int threads) -> std::unique_ptr<Device> {
    return std::make_unique<SpoiltDevice>(open_device(id, threads),
                                          [=](Device& device, const Plan& plan, const Buffers& buffers) {
                                            if (plan.launches.front().kernel == kernel) spoil(device, plan, buffers);
                                          });
  };
  return {open, [](const std::string& kind) { return open_compiler(kind); }, true};
}

void change_first_byte(Device& device, const Plan&, const Buffers& buffers) {
  std::byte first{};
  device.download({&first, 1}, buffers.tensors.front());
  first ^= std::byte{1};
  device.upload(buffers.tensors.front(), {&first, 1});
}

void die_unless_there(const std::string& mark) {
  if (std::ifstream(mark)) return;
  std::ofstream(mark) << "it has died";
  ::raise(SIGKILL);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::vector<std::string> role(argv + std::min(argc, 2), argv + argc);
  if (mode == "fake" && evo::is_helping_role(role)) return evo::serve_helping(role, {"/proc/self/exe", "fake"});
  if (mode == "fake") return evo::serve_worker(role, evo::testing::fake_tools());
  if (mode == "real") return evo::worker_main(role);
  if (mode == "draws_other_numbers") return evo::serve_worker(role, spoilt_tools("evo_draw", change_first_byte));
  if (mode.starts_with("dies_once="))
    return evo::serve_worker(role, spoilt_tools("evo_hide", [=](auto&&...) { die_unless_there(mode.substr(10)); }));
  return misbehave(mode);
}
