#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "engine/task/plan.h"
#include "evaluator/device/device.h"
#include "evaluator/device/inputs.h"

/// What the pipeline and its worker processes say to each other. Requests carry an id; every reply repeats the id of
/// the request that it answers. A request is answered by `Started` and then by exactly one other reply.
namespace evo::protocol {

/// A message that cannot be read: truncated, of an unknown kind, a missing or ill-typed field, an impossible size.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// ---- Requests

struct Compile {
  std::string source;
  std::string arch;
  std::int32_t max_registers = 0;
};

/// Makes code known under a number of the parent's choice.
struct Load {
  std::uint64_t module = 0;
  Binary binary;
};

struct Unload {
  std::uint64_t module = 0;
};

/// Runs a plan on the inputs of one case, with poisoned outputs, guarded buffers and inputs compared afterwards.
struct Run {
  std::uint64_t module = 0;
  Plan plan;
  CaseRecipe recipe;
  std::uint32_t repeats = 1;  ///< More than one: each time in other surroundings; outputs must agree bitwise.
  bool sanitised = false;     ///< Watched for races and reads of unwritten memory where the device can.
};

/// Times a plan; each recipe of `rotation` fills one set of buffers.
struct Time {
  std::uint64_t module = 0;
  Plan plan;
  std::vector<CaseRecipe> rotation;
  TimingRequest timing;
  /// Of the same shape: its inputs then replace those of the first set, whose outputs and workspaces stay as timing
  /// left them, and the plan runs once more. A kernel that lives on an earlier launch's work is wrong there.
  std::optional<CaseRecipe> afterwards = std::nullopt;
  bool answered = true;  ///< Whether the outputs are asked for; else only the time.
};

/// What a virtual GPU's cost model makes of a plan, warm: only the blocks that it looks at run, nothing is checked.
/// Answered by Timed without outputs.
struct Model {
  std::uint64_t module = 0;
  Plan plan;
  CaseRecipe recipe;
};

using Request = std::variant<Compile, Load, Unload, Run, Time, Model>;

// ---- Replies

struct Ready {  ///< Unasked, id 0: the worker has opened its device or compiler.
  std::string what;
};
struct Started {};
struct Compiled {
  Binary binary;
};
struct Done {};  ///< To Load and Unload.
struct Ran {
  std::vector<std::byte> outputs;  ///< Every output of the plan, one after another: of the first repeat.
  /// A later repeat gave other bits. Beside the outputs, because whether those are right is the better reason.
  std::optional<Failure> unrepeatable;
};
struct Timed {
  Timing timing;
  /// For each set of the rotation, then for `afterwards`: the outputs are bit for bit those of an earlier answer on the
  /// same case by the same module.
  std::vector<bool> as_before;
  std::vector<std::byte> outputs;  ///< As in Ran, in the same order, of those that are not.
};
struct Failed {  ///< The candidate's fault.
  Failure failure;
};
struct Broken {  ///< The machine's fault.
  std::string message;
};

using Reply = std::variant<Ready, Started, Compiled, Done, Ran, Timed, Failed, Broken>;

/// One message as it travels: a small CBOR text, then bytes as they are (outputs).
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
RequestMessage decode_request(Frame frame);
ReplyMessage decode_reply(Frame frame);

/// The head of every frame on the wire: magic, control bytes, payload bytes; little-endian.
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::uint32_t kMaxControlBytes = 256U << 20;
struct FrameSizes {
  std::uint32_t control = 0;
  std::uint64_t payload = 0;
};
std::array<std::uint8_t, kHeaderBytes> encode_header(const FrameSizes& sizes);
/// Throws ProtocolError for a wrong magic, or a size above kMaxControlBytes or `max_payload`.
FrameSizes decode_header(std::span<const std::uint8_t, kHeaderBytes> bytes, std::uint64_t max_payload);

/// Equal recipes, and no others, have equal fingerprints.
std::string fingerprint(const CaseRecipe& recipe);

/// The bytes of all outputs of a plan.
std::uint64_t output_bytes(const Plan& plan);
/// What is wrong with a reply that is neither the one asked for nor Failed: what the machine lacks, or that the worker
/// does not keep to the protocol.
std::string complaint_of(const Reply& reply);

}  // namespace evo::protocol
