#include "evaluator/worker/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace evo {
namespace {

constexpr std::size_t kErrorTailBytes = 2048;
/// Of what comes after a header. It may come from another host, which no candidate has to answer for.
constexpr double kSlowestBytesPerSecond = 1e6;

std::chrono::duration<double> travel_time(std::uint64_t bytes) {
  return std::chrono::duration<double>(static_cast<double>(bytes) / kSlowestBytesPerSecond);
}

/// Milliseconds for poll, rounded up; -1: for ever.
int poll_timeout(std::optional<Clock::time_point> deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

UniqueFd open_event() {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.is_open()) throw machine_error("cannot make an event descriptor: too many open files");
  return event;
}

void raise_event(int event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event, &one, sizeof one);
}

bool can_read(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

}  // namespace

StopSignal::StopSignal() : event_(open_event()) {}

void StopSignal::raise() noexcept {
  raise_event(event_.get());
}

bool StopSignal::raised() const noexcept {
  return can_read(event_.get());
}

WakeSignal::WakeSignal() : event_(open_event()) {}

void WakeSignal::raise() noexcept {
  raise_event(event_.get());
}

void WakeSignal::clear() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto taken = ::read(event_.get(), &count, sizeof count);
}

Channel::Channel(UniqueFd socket, UniqueFd errors, const StopSignal* stop)
    : socket_(std::move(socket)), errors_(std::move(errors)), stop_(stop) {
  if (errors_.is_open()) ::fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
}

TransferEnd Channel::send(const protocol::Frame& frame, std::optional<Clock::time_point> deadline) {
  const auto header = protocol::encode_header({static_cast<std::uint32_t>(frame.control.size()), frame.payload.size()});
  // In one piece: each piece wakes the receiver.
  std::vector<std::uint8_t> head(header.begin(), header.end());
  head.insert(head.end(), frame.control.begin(), frame.control.end());
  const TransferEnd end = transfer(Direction::write, head.data(), head.size(), deadline);
  if (end != TransferEnd::complete) return end;
  auto* payload = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(frame.payload.data()));
  return transfer(Direction::write, payload, frame.payload.size(), deadline);
}

TransferEnd Channel::receive(protocol::Frame& frame, std::optional<Clock::time_point> deadline,
                             std::uint64_t max_payload) {
  std::array<std::uint8_t, protocol::kHeaderBytes> header{};
  TransferEnd end = transfer(Direction::read, header.data(), header.size(), deadline);
  if (end != TransferEnd::complete) return end;
  const protocol::FrameSizes sizes = protocol::decode_header(header, max_payload);
  frame.control.resize(sizes.control);
  end = transfer(Direction::read, frame.control.data(), frame.control.size(), deadline);
  if (end != TransferEnd::complete) return end;
  frame.payload.resize(sizes.payload);
  if (deadline) *deadline += std::chrono::ceil<Clock::duration>(travel_time(sizes.payload));
  return transfer(Direction::read, reinterpret_cast<std::uint8_t*>(frame.payload.data()), frame.payload.size(),
                  deadline);
}

TransferEnd Channel::wait(const WakeSignal& wake, std::optional<Clock::time_point> deadline) {
  while (!can_read(socket_.get())) {
    const TransferEnd end = await(Direction::read, deadline, wake.fd());
    if (end != TransferEnd::complete) return end;
  }
  return TransferEnd::complete;
}

const std::string& Channel::error_tail() {
  drain_errors();
  return error_tail_;
}

TransferEnd Channel::transfer(Direction direction, std::uint8_t* bytes, std::size_t count,
                              std::optional<Clock::time_point> deadline) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t moved = direction == Direction::read
                              ? ::recv(socket_.get(), bytes + done, count - done, MSG_DONTWAIT)
                              : ::send(socket_.get(), bytes + done, count - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (moved > 0) {
      done += static_cast<std::size_t>(moved);
    } else if (moved == 0 && direction == Direction::read) {
      return TransferEnd::closed;
    } else if (moved < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      return TransferEnd::closed;
    } else {
      const TransferEnd end = await(direction, deadline);
      if (end != TransferEnd::complete) return end;
    }
  }
  return TransferEnd::complete;
}

TransferEnd Channel::await(Direction direction, std::optional<Clock::time_point> deadline, int wake) {
  std::array<pollfd, 4> watched{
      {{socket_.get(), static_cast<short>(direction == Direction::read ? POLLIN : POLLOUT), 0},
       {stop_ != nullptr ? stop_->fd() : -1, POLLIN, 0},
       {errors_.is_open() ? errors_.get() : -1, POLLIN, 0},
       {wake, POLLIN, 0}}};
  const int ready = ::poll(watched.data(), watched.size(), poll_timeout(deadline));
  if (ready < 0 && errno != EINTR) return TransferEnd::closed;
  if (ready > 0 && watched[1].revents != 0) return TransferEnd::stopped;
  if (ready > 0 && watched[2].revents != 0) drain_errors();
  if (ready > 0 && watched[3].revents != 0 && watched[0].revents == 0) return TransferEnd::woken;
  if (deadline && Clock::now() >= *deadline && watched[0].revents == 0) return TransferEnd::deadline;
  return TransferEnd::complete;
}

void Channel::drain_errors() {
  std::array<char, 1024> buffer{};
  while (errors_.is_open()) {
    const ssize_t got = ::read(errors_.get(), buffer.data(), buffer.size());
    if (got > 0) {
      error_tail_.append(buffer.data(), static_cast<std::size_t>(got));
      if (error_tail_.size() > kErrorTailBytes) error_tail_.erase(0, error_tail_.size() - kErrorTailBytes);
    } else {
      // End of file, or nothing left for now; a closed pipe would make poll return at once for ever.
      if (got == 0) errors_.reset();
      return;
    }
  }
}

}  // namespace evo
