#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/plan.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/device/device.h"
#include "evaluator/device/inputs.h"
#include "evaluator/device/output_sums.h"

/// The messages between the pipeline and its worker processes. A request carries an id, and every reply repeats the id
/// of its request. A request is answered by `Started`, once its inputs are ready, and then by exactly one other reply.
/// A worker that works on several requests at once answers them in any order, all others in the order of requests.
namespace evo::protocol {

/// A message that cannot be read: truncated, of an unknown kind, a missing or ill-typed field, an impossible size.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// ---- Requests

using Compile = SourceRequest;

/// Loads a program under a number that the parent chooses. Later requests name its plans by their shapes: a plan is
/// some kilobytes, and a candidate runs on hundreds of cases.
struct Load {
  std::uint64_t module = 0;
  Binary binary;
  std::map<std::string, Plan> plans;  ///< By shape name.
};

/// Modules of the program itself, whose numbers no candidate's programs reach: the kernels of a DeviceJudge, and from
/// the next number on the programs of the reference.
inline constexpr std::uint64_t kJudgeModule = std::uint64_t{1} << 62;

struct Unload {
  std::uint64_t module = 0;
};

/// Runs a plan on the inputs of one case. Outputs are poisoned before; guards and inputs are checked afterwards.
struct Run {
  std::uint64_t module = 0;
  std::string shape;
  /// A recipe is some kilobytes, and candidate after candidate runs on the same cases: it travels once to each worker,
  /// with a name, and later runs give the name alone.
  std::optional<CaseRecipe> recipe;
  std::uint32_t repeats = 1;  ///< Each with another poison. The outputs must agree bitwise.
  bool sanitised = false;     ///< By Device::run_sanitised.
  std::string case_name = {};
  /// For each output: it is compared there with the answer that is kept to the case, and does not come back. Empty: it
  /// comes back.
  std::vector<ComparedFor> compared = {};
  bool as_before = false;  ///< The outputs must agree with those of the case's last run, too.
};

/// Runs the reference, a loaded plan, on a case and keeps what it gives, for later runs of the case. Answered by Done.
struct KeepAnswer {
  std::uint64_t module = 0;
  std::string shape;
  CaseRecipe recipe;
};

/// Asks whether a plan does less where a call brings what an earlier one brought (evaluator/device/skip_probe.h).
struct SkipProbe {
  CaseRecipe other;           ///< A case like the first of the rotation, with other values.
  double call_us = 0;         ///< What a call takes.
  bool deterministic = true;  ///< Runs on the same inputs agree bitwise.
};

/// Times a plan; each recipe of `rotation` fills one set of buffers.
struct Time {
  std::uint64_t module = 0;
  std::string shape;
  std::vector<CaseRecipe> rotation;
  TimingRequest timing;
  /// A case of the same shape. After timing its inputs replace those of the first set, and the plan runs once more.
  /// Outputs and workspaces stay as they were: a kernel that reuses an earlier launch's work gives a wrong answer.
  std::optional<CaseRecipe> afterwards = std::nullopt;
  bool answered = true;  ///< Whether the reply has the outputs; otherwise only the time.
  /// Looks for skipped work instead. The reply has no timing. Its outputs are those of a call whose inputs are the
  /// earlier call's, while its outputs were poisoned and its workspaces left as they were.
  std::optional<SkipProbe> probe = std::nullopt;
};

/// Reads the counters of a plan's launches (Device::profile). Nothing is checked. Answered by Profiled.
struct ReadCounters {
  std::uint64_t module = 0;
  std::string shape;
  CaseRecipe recipe;
};

/// Compiles a program and predicts one warm call of a plan by a cost model. Answered by Modelled, or by Failed when the
/// program does not compile.
struct Model {
  Compile compile;
  Plan plan;
  CaseRecipe recipe;
};

using Request = std::variant<Compile, Load, Unload, Run, Time, ReadCounters, Model, KeepAnswer>;
/// Their names, in the order of the variant.
inline constexpr std::array kRequestKinds = {"compile", "load", "unload", "run", "time", "counters", "model", "answer"};
static_assert(kRequestKinds.size() == std::variant_size_v<Request>);
const char* name_of(const Request& request);

// ---- Replies

struct Ready {  ///< The first message, with id 0: the worker has opened its device or compiler.
  std::string what;
  std::uint32_t at_once = 1;  ///< Requests that it works on at once.
};
struct Started {};
struct Compiled {
  Binary binary;
};
struct Done {};  ///< To Load, Unload and KeepAnswer.
struct Ran {
  /// Of the first repeat: every output of the plan, one after another. No field of the record: the frame's payload.
  std::vector<std::byte> outputs;
  /// Set when a later repeat gave other bits. The outputs are compared first: a wrong answer is the better reason.
  std::optional<Failure> unrepeatable;
  /// Of each output, where they were to be compared there. Empty: no answer to the case is kept, nothing was compared.
  std::vector<OutputSums> sums = {};
};
struct Timed {
  Timing timing;
  /// For each set of the rotation, then for `afterwards`: whether the outputs are bit for bit an earlier answer of the
  /// same module on the same case.
  std::vector<bool> as_before;
  std::vector<std::byte> outputs;  ///< As in Ran, of those that are not, in the same order.
};
struct Profiled {
  std::vector<LaunchProfile> launches;
};
struct Modelled {
  Binary binary;
  std::vector<LaunchProfile> launches;
  std::optional<Failure> failure = std::nullopt;  ///< Why it cannot be modelled; then there are no launches.
};
struct Failed {  ///< The candidate's fault.
  Failure failure;
};
struct Broken {  ///< The machine's fault.
  std::string message;
};

using Reply = std::variant<Ready, Started, Compiled, Done, Ran, Timed, Profiled, Modelled, Failed, Broken>;
/// Likewise.
inline constexpr std::array kReplyKinds = {"ready", "started",  "compiled", "done",   "ran",
                                           "timed", "profiled", "modelled", "failed", "broken"};
static_assert(kReplyKinds.size() == std::variant_size_v<Reply>);

/// The bytes of all outputs of a plan.
std::uint64_t output_bytes(const Plan& plan);
/// What is wrong with a reply that is neither the expected one nor Failed: the worker's own message when it is Broken,
/// else that the worker does not keep to the protocol.
std::string complaint_of(const Reply& reply);

}  // namespace evo::protocol

namespace evo {

// ---- Their fields

EVO_RECORD(protocol::Load, module, binary, plans);
EVO_RECORD(protocol::Unload, module);
EVO_RECORD(protocol::Run, module, shape, recipe, repeats, sanitised, case_name, compared, as_before);
EVO_RECORD(protocol::KeepAnswer, module, shape, recipe);
EVO_RECORD(protocol::SkipProbe, other, call_us, deterministic);
EVO_RECORD(protocol::Time, module, shape, rotation, timing, afterwards, answered, probe);
EVO_RECORD(protocol::ReadCounters, module, shape, recipe);
EVO_RECORD(protocol::Model, compile, plan, recipe);
EVO_RECORD(protocol::Ready, what, at_once);
EVO_RECORD(protocol::Compiled, binary);
EVO_FIELDS(protocol::Ran, unrepeatable, sums);
EVO_FIELDS(protocol::Timed, timing, as_before);
EVO_RECORD(protocol::Profiled, launches);
EVO_RECORD(protocol::Modelled, binary, launches, failure);
EVO_RECORD(protocol::Failed, failure);
EVO_RECORD(protocol::Broken, message);
template <>
inline constexpr auto kFields<protocol::Started> = std::tuple<>();
template <>
inline constexpr auto kFields<protocol::Done> = std::tuple<>();

}  // namespace evo
