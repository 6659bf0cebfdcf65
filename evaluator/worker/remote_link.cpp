#include "evaluator/worker/remote_link.h"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "evaluator/base/random.h"
#include "evaluator/worker/prefix_command.h"
#include "evaluator/worker/process.h"

namespace evo {
namespace {

using LinkClock = std::chrono::steady_clock;

constexpr const char* kNearEnd = "--link";
constexpr const char* kFarEnd = "--relay";

enum class FrameKind : std::uint32_t { hello = 1, data, alive, ended };
enum class Side : std::uint64_t { near = 0x6e656172, far = 0x666172 };

struct FrameHead {
  std::uint32_t magic = 0;
  std::uint32_t kind = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};
constexpr std::uint32_t kFrameMagic = 0x6b6c7665;
/// Ends a frame: srun holds back what is no whole line.
constexpr char kFrameEnd = '\n';
constexpr std::size_t kMostFrameBytes = 64 << 10;
/// slurmstepd holds the rest of a burst back until more comes. Signs of life therefore follow content so soon, then
/// ever later.
constexpr auto kFirstPause = std::chrono::milliseconds(20);
/// So much waits for an end that does not read. Then the other one is no longer read.
constexpr std::size_t kMostWaiting = 4 << 20;

std::uint64_t checksum(std::uint64_t session, Side side, std::uint64_t number, FrameKind kind, std::string_view bytes) {
  const std::array<std::uint64_t, 4> about = {session, static_cast<std::uint64_t>(side), number,
                                              static_cast<std::uint64_t>(kind)};
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), XXH3_64bits(about.data(), sizeof about));
}

/// Thrown when the other end is not there any more, or is not the right one.
struct LinkBroken {
  std::string why;
};

/// Bytes to and from one peer. The descriptors stay blocking: other processes may share them.
class Stream {
 public:
  Stream(int in, int out) : in_(in), out_(out) {}
  int in() const { return in_; }
  int out() const { return out_; }
  std::string& arrived() { return arrived_; }  ///< Read, not taken.
  bool ended() const { return ended_; }
  bool deaf() const { return deaf_; }  ///< Nobody reads what is written.
  void write_later(std::string_view bytes) {
    if (!deaf_) waiting_.append(bytes);
  }
  std::size_t waiting() const { return waiting_.size() - written_; }  ///< Bytes to be written.
  bool crowded() const { return waiting() >= kMostWaiting; }

  /// To be called when poll says that there is something.
  void read_some() {
    std::array<char, 1 << 16> buffer;
    ssize_t got = ::recv(in_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == ENOTSOCK) got = ::read(in_, buffer.data(), buffer.size());
    if (got > 0) {
      arrived_.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      ended_ = true;
    }
  }
  /// To be called when poll says that there is room. What nobody will read is dropped: the peer may have said something
  /// before it went.
  void write_some() {
    const char* begin = waiting_.data() + written_;
    ssize_t put = ::send(out_, begin, waiting(), MSG_DONTWAIT | MSG_NOSIGNAL);
    // A pipe with room takes so much without blocking.
    if (put < 0 && errno == ENOTSOCK) put = ::write(out_, begin, std::min<std::size_t>(waiting(), PIPE_BUF));
    if (put > 0) written_ += static_cast<std::size_t>(put);
    deaf_ = deaf_ || (put < 0 && errno != EAGAIN && errno != EINTR);
    if (!deaf_ && 2 * written_ < waiting_.size()) return;
    waiting_.erase(0, deaf_ ? waiting_.size() : written_);
    written_ = 0;
  }

 private:
  int in_, out_;
  std::string waiting_, arrived_;
  std::size_t written_ = 0;  ///< Of what waits.
  bool ended_ = false;
  bool deaf_ = false;
};

/// Carries bytes between a worker's protocol on one side and frames on the other.
class Carrier {
 public:
  Carrier(Side side, std::uint64_t session, double lease_s, Stream protocol, Stream frames, int errors)
      : side_(side),
        session_(session),
        lease_(std::chrono::duration_cast<LinkClock::duration>(std::chrono::duration<double>(lease_s))),
        protocol_(std::move(protocol)),
        frames_(std::move(frames)),
        errors_(errors) {}

  void send(FrameKind kind, std::string_view bytes) {
    FrameHead head{kFrameMagic, static_cast<std::uint32_t>(kind), bytes.size(),
                   checksum(session_, side_, sent_++, kind, bytes)};
    frames_.write_later({reinterpret_cast<const char*>(&head), sizeof head});
    frames_.write_later(bytes);
    frames_.write_later({&kFrameEnd, 1});
  }

  /// Until the protocol's side ends (near: the client has gone; far: the worker has), or the far end says that the
  /// worker has ended: its words are the result. Throws LinkBroken.
  std::optional<std::string> run() {
    heard_ = next_alive_ = LinkClock::now();
    while (true) {
      const auto now = LinkClock::now();
      if (now >= next_alive_) {
        send(FrameKind::alive, {});
        next_alive_ = now + pause_;
        pause_ = std::min(2 * pause_, lease_ / 4);
      }
      // An end that does not read cannot hear.
      if (protocol_.crowded()) heard_ = now;
      if (now >= heard_ + lease_)
        throw LinkBroken{fmt::format("no sign of life for {:g} s", std::chrono::duration<double>(lease_).count())};
      wait_until(std::min(next_alive_, heard_ + lease_));
      if (take_frames()) return std::string(last_words_);
      wrap();
      if (protocol_.ended()) return std::nullopt;
      // The near end may still hear why.
      if (side_ == Side::far && frames_.deaf()) throw LinkBroken{"nobody listens"};
      if (frames_.ended())
        throw LinkBroken{greeted_ || frames_.arrived().empty() ? "the connection ended" : no_frames()};
    }
  }

  /// Writes what still waits, for a lease at most.
  void flush() {
    const auto until = LinkClock::now() + lease_;
    for (Stream* stream : {&protocol_, &frames_}) {
      while (stream->waiting() > 0 && LinkClock::now() < until) {
        pollfd one{stream->out(), POLLOUT, 0};
        ::poll(&one, 1, 100);
        if (one.revents != 0) stream->write_some();
      }
    }
  }

  /// The last line that the prefix's command wrote to standard error; empty: none.
  std::string last_complaint() {
    drain_errors();
    return last_line(complaints_);
  }

 private:
  void wait_until(LinkClock::time_point until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - LinkClock::now()).count();
    std::array<pollfd, 5> watched{{{frames_.crowded() ? -1 : protocol_.in(), POLLIN, 0},
                                   {protocol_.waiting() == 0 ? -1 : protocol_.out(), POLLOUT, 0},
                                   {protocol_.crowded() ? -1 : frames_.in(), POLLIN, 0},
                                   {frames_.waiting() == 0 ? -1 : frames_.out(), POLLOUT, 0},
                                   {errors_, POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    if (watched[0].revents != 0) protocol_.read_some();
    if (watched[1].revents != 0) protocol_.write_some();
    if (watched[2].revents != 0) frames_.read_some();
    if (watched[3].revents != 0) frames_.write_some();
    if (watched[4].revents != 0) drain_errors();
  }

  /// Puts what arrived from the protocol's side into frames.
  void wrap() {
    std::string_view rest = protocol_.arrived();
    if (rest.empty()) return;
    pause_ = kFirstPause;
    next_alive_ = std::min(next_alive_, LinkClock::now() + pause_);
    for (; !rest.empty(); rest.remove_prefix(std::min(rest.size(), kMostFrameBytes)))
      send(FrameKind::data, rest.substr(0, kMostFrameBytes));
    protocol_.arrived().clear();
  }

  /// Takes the whole frames that have arrived. True once the worker has ended.
  bool take_frames() {
    std::string_view rest = frames_.arrived();
    FrameHead head;
    while (rest.size() >= sizeof head) {
      std::memcpy(&head, rest.data(), sizeof head);
      if (head.magic != kFrameMagic || head.bytes > kMostFrameBytes) {
        frames_.arrived().erase(0, frames_.arrived().size() - rest.size());
        throw LinkBroken{no_frames()};
      }
      const std::size_t whole = sizeof head + head.bytes + sizeof kFrameEnd;
      if (rest.size() < whole) break;
      const std::string_view bytes = rest.substr(sizeof head, head.bytes);
      const auto kind = static_cast<FrameKind>(head.kind);
      const Side other = side_ == Side::near ? Side::far : Side::near;
      if (head.checksum != checksum(session_, other, received_++, kind, bytes) || rest[whole - 1] != kFrameEnd)
        throw LinkBroken{"it sent a frame that is changed, out of order or of another session"};
      heard_ = LinkClock::now();
      if (take(kind, bytes)) return true;
      rest.remove_prefix(whole);
    }
    frames_.arrived().erase(0, frames_.arrived().size() - rest.size());
    return false;
  }

  bool take(FrameKind kind, std::string_view bytes) {
    if (side_ == Side::near && !greeted_) {
      if (kind != FrameKind::hello && kind != FrameKind::alive) throw LinkBroken{"it does not begin with a greeting"};
      if (kind == FrameKind::hello) greeted_ = true;
      if (kind == FrameKind::hello && bytes != greeting()) {
        throw LinkBroken{fmt::format("its program is another one ({}) than here ({})", bytes, greeting())};
      }
      return false;
    }
    if (kind == FrameKind::data) protocol_.write_later(bytes);
    if (kind == FrameKind::ended) last_words_ = bytes;
    return kind == FrameKind::ended;
  }

  std::string no_frames() {
    std::string shown = frames_.arrived().substr(0, 60);
    std::ranges::replace_if(
        shown, [](char c) { return c < ' ' || c > '~'; }, '.');
    return fmt::format("it sent something else than frames: '{}'", shown);
  }

  void drain_errors() {
    std::array<char, 4096> buffer;
    ssize_t got = 0;
    while (errors_ >= 0 && (got = ::read(errors_, buffer.data(), buffer.size())) > 0) {
      complaints_.append(buffer.data(), static_cast<std::size_t>(got));
      if (complaints_.size() > buffer.size()) complaints_.erase(0, complaints_.size() - buffer.size());
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, buffer.data(), static_cast<std::size_t>(got));
    }
    if (got == 0) errors_ = -1;
  }

 public:
  static std::string greeting() { return hash_of_this_program(); }

 private:
  Side side_;
  std::uint64_t session_;
  LinkClock::duration lease_;
  Stream protocol_, frames_;
  int errors_;
  std::uint64_t sent_ = 0, received_ = 0;
  LinkClock::time_point heard_, next_alive_;
  LinkClock::duration pause_ = kFirstPause;  ///< Until the sign of life after the next.
  bool greeted_ = false;
  std::string last_words_, complaints_;
};

/// "signal 11" or "code 3"
std::string words_of(const ExitStatus& status) {
  return status.signal != 0 ? fmt::format("signal {}", status.signal) : fmt::format("code {}", status.code);
}

/// Ends this process as the worker has ended.
int end_like(const std::string& words) {
  const std::size_t space = words.find(' ');
  const auto number =
      space == std::string::npos ? std::nullopt : number_in<int>(std::string_view(words).substr(space + 1));
  if (!number) return kLinkLost;
  if (!words.starts_with("signal")) return *number;
  ::signal(*number, SIG_DFL);
  ::raise(*number);
  return 128 + *number;
}

int lose_link(const RemoteCommand& remote, const std::string& why, const std::string& complaint) {
  std::fprintf(stderr, "%s: %s%s%s\n", remote.prefix.empty() ? "this host" : remote.prefix.c_str(), why.c_str(),
               complaint.empty() ? "" : ": ", complaint.c_str());
  return kLinkLost;
}

/// `--link PREFIX EVO LEASE WORKER...`
int serve_near_end(const std::vector<std::string>& arguments) {
  become_worker();
  ::fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC);  // The client sees its end when this process ends.
  const RemoteCommand remote{arguments.at(1), arguments.at(2), std::stod(arguments.at(3))};
  const std::uint64_t session = fresh_salt();
  // Its first word makes it a worker's program on the other host, too.
  std::vector<std::string> far = {arguments.at(4), kFarEnd, std::to_string(session), arguments.at(3)};
  far.insert(far.end(), arguments.begin() + 4, arguments.end());
  SocketPair sockets = make_socket_pair();
  int errors[2];
  if (::pipe2(errors, O_CLOEXEC) != 0) return lose_link(remote, "too many open files here", "");
  far.insert(far.begin(), remote.evo);
  const pid_t child = start_behind(remote.prefix, far, sockets.theirs.get(), sockets.theirs.get(), errors[1]);
  sockets.theirs.reset();
  ::close(errors[1]);
  if (child < 0) return lose_link(remote, "cannot start a process here", "");
  ::fcntl(errors[0], F_SETFL, O_NONBLOCK);
  Carrier carrier(Side::near, session, remote.lease_s, {kWorkerSocket, kWorkerSocket},
                  {sockets.ours.get(), sockets.ours.get()}, errors[0]);
  try {
    const std::optional<std::string> words = carrier.run();
    if (!words) return 0;  // Nobody waits any more.
    carrier.flush();
    return end_like(*words);
  } catch (const LinkBroken& broken) {
    ::kill(-child, SIGTERM);
    ::usleep(50'000);  // For its last words.
    return lose_link(remote, broken.why, carrier.last_complaint());
  }
}

/// `--relay SESSION LEASE WORKER...`
int serve_far_end(const std::vector<std::string>& arguments) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);
  const std::uint64_t session = std::stoull(arguments.at(1));
  // What a worker prints must not get among the frames.
  const int in = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10), out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  std::vector<std::string> command = {"/proc/self/exe"};
  command.insert(command.end(), arguments.begin() + 3, arguments.end());
  SocketPair sockets = make_socket_pair();
  Process worker(command, sockets.theirs.get(), STDERR_FILENO);
  sockets.theirs.reset();
  Carrier carrier(Side::far, session, std::stod(arguments.at(2)), {sockets.ours.get(), sockets.ours.get()}, {in, out},
                  -1);
  carrier.send(FrameKind::hello, Carrier::greeting());
  try {
    carrier.run();
  } catch (const LinkBroken&) {
    return 0;  // The worker is killed with its owner.
  }
  const std::optional<ExitStatus> status = worker.wait(std::chrono::seconds(2));
  carrier.send(FrameKind::ended, words_of(status.value_or(ExitStatus{SIGKILL, 0})));
  carrier.flush();
  return 0;
}

}  // namespace

std::vector<std::string> near_end_arguments(const RemoteCommand& remote, const std::vector<std::string>& worker) {
  std::vector<std::string> arguments = {kNearEnd, remote.prefix, remote.evo, fmt::format("{:g}", remote.lease_s)};
  arguments.insert(arguments.end(), worker.begin(), worker.end());
  return arguments;
}

bool is_link_end(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return false;
  return (arguments[0] == kNearEnd && arguments.size() > 5) || (arguments[0] == kFarEnd && arguments.size() > 4);
}

int serve_link_end(const std::vector<std::string>& arguments) {
  try {
    return arguments[0] == kNearEnd ? serve_near_end(arguments) : serve_far_end(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kLinkLost;
  }
}

std::string hash_of_this_program() {
  static const std::string hash = [] {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    return hash_hex(std::string(std::istreambuf_iterator<char>(file), {}));
  }();
  return hash;
}

}  // namespace evo
