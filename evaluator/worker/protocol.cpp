#include "evaluator/worker/protocol.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "engine/record/record_json.h"
#include "evaluator/worker/message_checks.h"
#include "evaluator/worker/wire_forms.h"

namespace evo::protocol {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "frames are little-endian");

constexpr std::uint32_t kMagic = 0x314F5645;  // "EVO1"

// ---- Payloads: bulk data, which in the control text would be read byte by byte.

template <class Message>
concept BringsBinary = requires(Message message) {
  message.binary;
};
template <class Message>
concept BringsOutputs = requires(Message message) {
  message.outputs;
};

/// A cubin, and its PTX behind it.
std::vector<std::byte> payload_of(const Binary& binary) {
  const auto ptx = std::as_bytes(std::span(binary.ptx));
  std::vector<std::byte> payload;
  payload.reserve(binary.cubin.size() + ptx.size());
  payload = binary.cubin;
  payload.insert(payload.end(), ptx.begin(), ptx.end());
  return payload;
}

void take_payload(Binary& binary, std::uint64_t cubin_bytes, std::span<const std::byte> payload) {
  if (cubin_bytes > payload.size()) throw ProtocolError("field cubin_bytes is larger than the payload");
  const auto cubin = payload.first(cubin_bytes), ptx = payload.subspan(cubin_bytes);
  binary.cubin.assign(cubin.begin(), cubin.end());
  binary.ptx.assign(reinterpret_cast<const char*>(ptx.data()), ptx.size());
}

/// `message` may lose its outputs to the frame.
template <class Message>
void write_message(Message&& message, json& control, std::vector<std::byte>& payload) {
  using Record = std::remove_cvref_t<Message>;
  control["body"] = to_json<json>(static_cast<const Record&>(message));
  if constexpr (BringsBinary<Record>) {
    control["cubin_bytes"] = message.binary.cubin.size();
    payload = payload_of(message.binary);
  } else if constexpr (BringsOutputs<Record>) {
    payload = std::forward<Message>(message).outputs;
  }
}

template <class Message, class Payload>
Message read_message(const json& control, Payload&& payload) {
  auto message = read_field<Message>(control, "body");
  if constexpr (BringsBinary<Message>) {
    take_payload(message.binary, read_field<std::uint64_t>(control, "cubin_bytes"), payload);
  } else if constexpr (BringsOutputs<Message>) {
    message.outputs = std::forward<Payload>(payload);
  } else if (!payload.empty()) {
    throw ProtocolError("a payload where there is none");
  }
  return message;
}

/// Reads the alternative that is called `kind`; tries those from `Place` on.
template <class Variant, std::size_t Place = 0>
Variant read_alternative(const auto& kinds, const std::string& kind, const json& control, auto&& payload) {
  if constexpr (Place < std::variant_size_v<Variant>) {
    if (kind == kinds[Place])
      return read_message<std::variant_alternative_t<Place, Variant>>(control,
                                                                      std::forward<decltype(payload)>(payload));
    return read_alternative<Variant, Place + 1>(kinds, kind, control, std::forward<decltype(payload)>(payload));
  } else {
    throw ProtocolError("a message of an unknown kind: " + kind);
  }
}

/// Stops at the first value nested deeper than any message is: the parser calls itself for each level.
class DepthGuard final : public json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool start_array(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_object() override { return --depth_ >= 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override { return false; }

 private:
  static constexpr int kMaxDepth = 16;
  int depth_ = 0;
};

json parse(const Frame& frame) {
  DepthGuard guard;
  if (!json::sax_parse(frame.control, &guard, json::input_format_t::cbor))
    throw ProtocolError("not CBOR, or nested too deeply");
  json control;
  try {
    control = json::from_cbor(frame.control);
  } catch (const json::exception& error) {
    throw ProtocolError(fmt::format("not CBOR: {}", error.what()));
  }
  if (!control.is_object()) throw ProtocolError("a message is not a map");
  return control;
}

/// `read`s a frame's control text. What is wrong with a field is an error of the protocol.
template <class Read>
auto reading(const Frame& frame, Read&& read) {
  const json control = parse(frame);
  try {
    return read(control);
  } catch (const RecordError& error) {
    throw ProtocolError(error.what());
  }
}

}  // namespace

Frame encode(const RequestMessage& message) {
  Frame frame;
  json control = {{"id", message.id}, {"kind", name_of(message.request)}};
  std::visit([&](const auto& request) { write_message(request, control, frame.payload); }, message.request);
  frame.control = json::to_cbor(control);
  return frame;
}

Frame encode(ReplyMessage message) {
  Frame frame;
  json control = {{"id", message.id}, {"kind", kReplyKinds[message.reply.index()]}};
  std::visit([&](auto& reply) { write_message(std::move(reply), control, frame.payload); }, message.reply);
  frame.control = json::to_cbor(control);
  return frame;
}

RequestMessage decode_request(const Frame& frame) {
  return reading(frame, [&](const json& control) {
    RequestMessage message{
        read_field<std::uint64_t>(control, "id"),
        read_alternative<Request>(kRequestKinds, read_field<std::string>(control, "kind"), control, frame.payload)};
    check(message.request);
    return message;
  });
}

ReplyMessage decode_reply(Frame frame) {
  return reading(frame, [&](const json& control) {
    ReplyMessage message{read_field<std::uint64_t>(control, "id"),
                         read_alternative<Reply>(kReplyKinds, read_field<std::string>(control, "kind"), control,
                                                 std::move(frame.payload))};
    check(message.reply);
    return message;
  });
}

std::array<std::uint8_t, kHeaderBytes> encode_header(const FrameSizes& sizes) {
  std::array<std::uint8_t, kHeaderBytes> bytes{};
  std::memcpy(bytes.data(), &kMagic, 4);
  std::memcpy(bytes.data() + 4, &sizes.control, 4);
  std::memcpy(bytes.data() + 8, &sizes.payload, 8);
  return bytes;
}

FrameSizes decode_header(std::span<const std::uint8_t, kHeaderBytes> bytes, std::uint64_t max_payload) {
  std::uint32_t magic = 0;
  FrameSizes sizes;
  std::memcpy(&magic, bytes.data(), 4);
  std::memcpy(&sizes.control, bytes.data() + 4, 4);
  std::memcpy(&sizes.payload, bytes.data() + 8, 8);
  if (magic != kMagic) throw ProtocolError("not a frame");
  if (sizes.control > kMaxControlBytes || sizes.payload > max_payload) {
    throw ProtocolError(fmt::format("a frame of {} + {} bytes is too large", sizes.control, sizes.payload));
  }
  return sizes;
}

}  // namespace evo::protocol
