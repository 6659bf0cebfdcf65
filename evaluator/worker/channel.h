#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "evaluator/base/spare_buffers.h"
#include "evaluator/worker/process.h"
#include "evaluator/worker/protocol.h"

namespace evo {

using Clock = std::chrono::steady_clock;

/// Raised once, from any thread. It ends every wait on a channel.
class StopSignal {
 public:
  StopSignal();  ///< Throws machine_error when the system has no descriptors left.
  void raise() noexcept;
  bool raised() const noexcept;
  int fd() const { return event_.get(); }

 private:
  UniqueFd event_;
};

/// Wakes a wait on a channel, as often as it is raised, from any thread.
class WakeSignal {
 public:
  WakeSignal();  ///< Throws machine_error when the system has no descriptors left.
  void raise() noexcept;
  void clear() noexcept;
  int fd() const { return event_.get(); }

 private:
  UniqueFd event_;
};

/// How a transfer, or a wait for one, ended.
enum class TransferEnd { complete, closed, deadline, stopped, woken };

/// Frames over a stream socket. Used by one thread.
class Channel {
 public:
  /// `errors`: a pipe with the peer's stderr, drained while waiting; may be absent. Its lines go into the log, with the
  /// peer's name. `stop` may be null.
  Channel(UniqueFd socket, UniqueFd errors, const StopSignal* stop, std::string peer = "");

  /// All of them at once: the peer is woken once.
  TransferEnd send(std::span<const protocol::Frame> frames, std::optional<Clock::time_point> deadline);
  TransferEnd send(const protocol::Frame& frame, std::optional<Clock::time_point> deadline) {
    return send(std::span(&frame, 1), deadline);
  }
  /// Throws ProtocolError for a bad header or more than `max_payload` payload bytes. The frame's payload is one that
  /// was kept, where one fits. Bytes of a payload that have come earn it the time that they take on a slow line.
  TransferEnd receive(protocol::Frame& frame, std::optional<Clock::time_point> deadline, std::uint64_t max_payload);

  /// Takes back a payload that is not needed any more, for a later one.
  void keep(std::vector<std::byte> payload) { spares_.keep(std::move(payload)); }

  /// Whether a frame has arrived whole, so that `receive` would not wait. Throws ProtocolError as that does.
  bool has_frame(std::uint64_t max_payload);

  /// Waits until something can be received (complete; the peer's end is something, too), or `wake` is raised.
  TransferEnd wait(const WakeSignal& wake, std::optional<Clock::time_point> deadline);

  /// Whether the peer has closed its end, and nothing is left to be received.
  bool has_ended() const;

  /// The end of what the peer wrote to stderr (at most 2 KiB), without lines of its log.
  std::string error_tail();

 private:
  enum class Direction { read, write };
  /// Of the frame that has begun to arrive.
  protocol::FrameSizes next_sizes(std::uint64_t max_payload) const;
  /// Waits until so many bytes have arrived.
  TransferEnd arrive(std::size_t count, std::optional<Clock::time_point> deadline);
  TransferEnd read(std::byte* bytes, std::size_t count, std::optional<Clock::time_point> deadline);
  /// Waits for some bytes, at least one, and adds their number to `count`.
  TransferEnd read_some(void* to, std::size_t most, std::size_t& count, std::optional<Clock::time_point> deadline);
  std::size_t arrived() const { return end_ - taken_; }
  /// `wake`: a descriptor that ends the wait when it can be read; below 0: none.
  TransferEnd await(Direction direction, std::optional<Clock::time_point> deadline, int wake = -1);
  void drain_errors();
  void take_error_lines();

  UniqueFd socket_;
  UniqueFd errors_;
  const StopSignal* stop_;
  std::vector<std::uint8_t> buffer_;  ///< What has arrived lies between taken_ and end_.
  std::size_t taken_ = 0, end_ = 0;
  std::string peer_;
  std::string error_line_;  ///< Of stderr; its end has not arrived.
  std::string error_tail_;
  SpareBuffers spares_;
};

}  // namespace evo
