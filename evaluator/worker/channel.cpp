#include "evaluator/worker/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "engine/base/error.h"
#include "evaluator/base/log.h"

namespace evo {
namespace {

constexpr std::size_t kErrorTailBytes = 2048;
/// What is asked of a socket at once. Several small frames come with one call.
constexpr std::size_t kReadAhead = 64 << 10;
/// Payloads that are kept, in bytes.
constexpr std::size_t kPayloadBytesKept = 512 << 20;
/// Of a payload. It may come from another host, which no candidate has to answer for.
constexpr double kSlowestBytesPerSecond = 1e6;

Clock::duration travel_time(std::uint64_t bytes) {
  return std::chrono::ceil<Clock::duration>(
      std::chrono::duration<double>(static_cast<double>(bytes) / kSlowestBytesPerSecond));
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

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/// What is left of the pieces after so many bytes.
std::span<iovec> without(std::span<iovec> pieces, std::size_t bytes) {
  while (!pieces.empty() && bytes >= pieces.front().iov_len) {
    bytes -= pieces.front().iov_len;
    pieces = pieces.subspan(1);
  }
  if (bytes > 0) {
    pieces.front().iov_base = static_cast<std::byte*>(pieces.front().iov_base) + bytes;
    pieces.front().iov_len -= bytes;
  }
  return pieces;
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

Channel::Channel(UniqueFd socket, UniqueFd errors, const StopSignal* stop, std::string peer)
    : socket_(std::move(socket)),
      errors_(std::move(errors)),
      stop_(stop),
      buffer_(kReadAhead),
      peer_(std::move(peer)),
      spares_(kPayloadBytesKept) {
  if (errors_.is_open()) ::fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
}

TransferEnd Channel::send(std::span<const protocol::Frame> frames, std::optional<Clock::time_point> deadline) {
  std::vector<std::array<std::uint8_t, protocol::kHeaderBytes>> headers;
  headers.reserve(frames.size());
  std::vector<iovec> pieces;
  const auto add = [&](const void* bytes, std::size_t count) {
    if (count > 0) pieces.push_back({const_cast<void*>(bytes), count});
  };
  for (const protocol::Frame& frame : frames) {
    headers.push_back(
        protocol::encode_header({static_cast<std::uint32_t>(frame.control.size()), frame.payload.size()}));
    add(headers.back().data(), headers.back().size());
    add(frame.control.data(), frame.control.size());
    add(frame.payload.data(), frame.payload.size());
  }
  std::span<iovec> rest(pieces);
  while (!rest.empty()) {
    msghdr message{};
    message.msg_iov = rest.data();
    message.msg_iovlen = rest.size();
    const ssize_t moved = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (moved >= 0) {
      rest = without(rest, static_cast<std::size_t>(moved));
    } else if (would_block()) {
      const TransferEnd end = await(Direction::write, deadline);
      if (end != TransferEnd::complete) return end;
    } else {
      return TransferEnd::closed;
    }
  }
  return TransferEnd::complete;
}

TransferEnd Channel::receive(protocol::Frame& frame, std::optional<Clock::time_point> deadline,
                             std::uint64_t max_payload) {
  TransferEnd end = arrive(protocol::kHeaderBytes, deadline);
  if (end != TransferEnd::complete) return end;
  const protocol::FrameSizes sizes = next_sizes(max_payload);
  end = arrive(protocol::kHeaderBytes + sizes.control, deadline);
  if (end != TransferEnd::complete) return end;
  taken_ += protocol::kHeaderBytes;
  const auto control = buffer_.begin() + static_cast<std::ptrdiff_t>(taken_);
  frame.control.assign(control, control + static_cast<std::ptrdiff_t>(sizes.control));
  taken_ += sizes.control;
  frame.payload = spares_.take(sizes.payload);
  return read(frame.payload.data(), sizes.payload, deadline);
}

bool Channel::has_frame(std::uint64_t max_payload) {
  if (arrived() < protocol::kHeaderBytes) return false;
  const protocol::FrameSizes sizes = next_sizes(max_payload);
  return arrived() >= protocol::kHeaderBytes + sizes.control + sizes.payload;
}

TransferEnd Channel::wait(const WakeSignal& wake, std::optional<Clock::time_point> deadline) {
  while (arrived() == 0 && !can_read(socket_.get())) {
    const TransferEnd end = await(Direction::read, deadline, wake.fd());
    if (end != TransferEnd::complete) return end;
  }
  return TransferEnd::complete;
}

bool Channel::has_ended() const {
  char byte = 0;
  const ssize_t got = arrived() > 0 ? 1 : ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  return got == 0 || (got < 0 && !would_block());
}

std::string Channel::error_tail() {
  drain_errors();
  return error_tail_ + error_line_;
}

protocol::FrameSizes Channel::next_sizes(std::uint64_t max_payload) const {
  const std::span<const std::uint8_t> rest = std::span(buffer_).subspan(taken_);
  return protocol::decode_header(rest.first<protocol::kHeaderBytes>(), max_payload);
}

TransferEnd Channel::arrive(std::size_t count, std::optional<Clock::time_point> deadline) {
  if (arrived() >= count) return TransferEnd::complete;
  std::memmove(buffer_.data(), buffer_.data() + taken_, arrived());
  end_ -= std::exchange(taken_, 0);
  if (buffer_.size() < count) buffer_.resize(count);
  while (end_ < count) {
    const TransferEnd end = read_some(buffer_.data() + end_, buffer_.size() - end_, end_, deadline);
    if (end != TransferEnd::complete) return end;
  }
  return TransferEnd::complete;
}

TransferEnd Channel::read(std::byte* bytes, std::size_t count, std::optional<Clock::time_point> deadline) {
  std::size_t done = std::min(count, arrived());
  if (done > 0) std::memcpy(bytes, buffer_.data() + taken_, done);
  taken_ += done;
  // Bytes that have come earn time for the next ones: what a header promises earns none.
  std::size_t earned = 0;
  while (done < count) {
    if (deadline) *deadline += travel_time(done - std::exchange(earned, done));
    const TransferEnd end = read_some(bytes + done, count - done, done, deadline);
    if (end != TransferEnd::complete) return end;
  }
  return TransferEnd::complete;
}

TransferEnd Channel::read_some(void* to, std::size_t most, std::size_t& count,
                               std::optional<Clock::time_point> deadline) {
  while (true) {
    const ssize_t moved = ::recv(socket_.get(), to, most, MSG_DONTWAIT);
    if (moved > 0) {
      count += static_cast<std::size_t>(moved);
      return TransferEnd::complete;
    }
    if (moved == 0 || !would_block()) return TransferEnd::closed;
    const TransferEnd end = await(Direction::read, deadline);
    if (end != TransferEnd::complete) return end;
  }
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
      error_line_.append(buffer.data(), static_cast<std::size_t>(got));
      take_error_lines();
    } else {
      // End of file, or nothing left for now; a closed pipe would make poll return at once for ever.
      if (got == 0) errors_.reset();
      return;
    }
  }
}

void Channel::take_error_lines() {
  std::string_view rest = error_line_;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    if (end == rest.npos && rest.size() < kErrorTailBytes) break;  // Its end will come.
    const std::string_view line = rest.substr(0, end);
    write_log_of_worker(peer_, line);
    if (!is_log_line(line)) error_tail_.append(line).append("\n");
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  error_line_.erase(0, error_line_.size() - rest.size());
  if (error_tail_.size() > kErrorTailBytes) error_tail_.erase(0, error_tail_.size() - kErrorTailBytes);
}

}  // namespace evo
