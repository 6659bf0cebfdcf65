#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

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
  /// `errors`: a pipe with the peer's stderr, drained while waiting; may be absent. `stop` may be null.
  Channel(UniqueFd socket, UniqueFd errors, const StopSignal* stop);

  TransferEnd send(const protocol::Frame& frame, std::optional<Clock::time_point> deadline);
  /// Throws ProtocolError for a bad header or more than `max_payload` payload bytes.
  TransferEnd receive(protocol::Frame& frame, std::optional<Clock::time_point> deadline, std::uint64_t max_payload);

  /// Waits until something can be received (complete; the peer's end is something, too), or `wake` is raised.
  TransferEnd wait(const WakeSignal& wake, std::optional<Clock::time_point> deadline);

  /// The end of what the peer wrote to stderr (at most 2 KiB).
  const std::string& error_tail();

 private:
  enum class Direction { read, write };
  TransferEnd transfer(Direction direction, std::uint8_t* bytes, std::size_t count,
                       std::optional<Clock::time_point> deadline);
  /// `wake`: a descriptor that ends the wait when it can be read; below 0: none.
  TransferEnd await(Direction direction, std::optional<Clock::time_point> deadline, int wake = -1);
  void drain_errors();

  UniqueFd socket_;
  UniqueFd errors_;
  const StopSignal* stop_;
  std::string error_tail_;
};

}  // namespace evo
