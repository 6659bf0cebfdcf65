#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluator/worker/messages.h"

/// How messages (messages.h) lie on the wire.
namespace evo::protocol {

/// One message on the wire: a small CBOR text, then raw bytes: outputs, or a cubin and its PTX.
struct Frame {
  std::vector<std::uint8_t> control;
  std::vector<std::byte> payload;
};

struct RequestMessage {
  std::uint64_t id = 0;
  Request request;
};
struct ReplyMessage {
  std::uint64_t id = 0;
  Reply reply;
};

Frame encode(const RequestMessage& message);
Frame encode(ReplyMessage message);
/// Throw ProtocolError.
RequestMessage decode_request(const Frame& frame);
ReplyMessage decode_reply(Frame frame);

/// The head of every frame on the wire: magic, control bytes, payload bytes; little-endian.
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::uint32_t kMaxControlBytes = 256U << 20;
/// Of a cubin and its PTX.
inline constexpr std::uint64_t kMaxProgramBytes = 256U << 20;
struct FrameSizes {
  std::uint32_t control = 0;
  std::uint64_t payload = 0;
};
std::array<std::uint8_t, kHeaderBytes> encode_header(const FrameSizes& sizes);
/// Throws ProtocolError for a wrong magic, or a size above kMaxControlBytes or `max_payload`.
FrameSizes decode_header(std::span<const std::uint8_t, kHeaderBytes> bytes, std::uint64_t max_payload);
}  // namespace evo::protocol
