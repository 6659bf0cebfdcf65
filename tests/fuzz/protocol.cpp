// Any bytes are a message or a ProtocolError; what is read is written again as it was.
#include "evaluator/worker/protocol.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

using namespace evo::protocol;

template <typename Decode>
void round_trip(const std::vector<std::uint8_t>& control, const std::vector<std::byte>& payload, Decode decode) {
  try {
    auto message = decode(Frame{control, payload});
    const Frame again = encode(message);
    // Equal meaning has one spelling.
    if (encode(decode(again)).control != again.control) std::abort();
  } catch (const ProtocolError&) {
    // The worker is given up.
  }
}

}  // namespace

EVO_FUZZ_TARGET(protocol) {
  if (text.size() >= kHeaderBytes) {
    std::array<std::uint8_t, kHeaderBytes> head{};
    std::memcpy(head.data(), text.data(), head.size());
    try {
      decode_header(std::span<const std::uint8_t, kHeaderBytes>(head), 1024);
    } catch (const ProtocolError&) {
      // Not a frame.
    }
  }
  const std::vector<std::uint8_t> control(text.begin(), text.end());
  round_trip(control, {}, [](Frame frame) { return decode_request(std::move(frame)); });
  round_trip(control, {std::byte{1}, std::byte{2}}, [](Frame frame) { return decode_reply(std::move(frame)); });
}
