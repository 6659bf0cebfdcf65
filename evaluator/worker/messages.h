#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/plan.h"
#include "evaluator/device/device.h"
#include "evaluator/device/inputs.h"

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

struct Compile {
  std::string source;
  std::string arch;
  std::int32_t max_registers = 0;
  std::vector<std::string> kernels = {};    ///< Those that will be launched, by their C++ names.
  std::vector<std::string> variables = {};  ///< Those that will be filled, likewise.
};

/// What compiles a program.
Compile compile_request(const Program& program, const std::string& arch);

/// Loads a program under a number that the parent chooses. Later requests name its plans by their shapes: a plan is
/// some kilobytes, and a candidate runs on hundreds of cases.
struct Load {
  std::uint64_t module = 0;
  Binary binary;
  std::map<std::string, Plan> plans;  ///< By shape name.
};

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

using Request = std::variant<Compile, Load, Unload, Run, Time, ReadCounters, Model>;
/// Their names, in the order of the variant.
inline constexpr std::array kRequestKinds = {"compile", "load", "unload", "run", "time", "counters", "model"};
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
struct Done {};  ///< To Load and Unload.
struct Ran {
  /// Of the first repeat: every output of the plan, one after another. No field of the record: the frame's payload.
  std::vector<std::byte> outputs;
  /// Set when a later repeat gave other bits. The outputs are compared first: a wrong answer is the better reason.
  std::optional<Failure> unrepeatable;
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

template <>
inline constexpr auto kFields<protocol::Compile> = std::tuple(Field{"source", &protocol::Compile::source},
                                                              Field{"arch", &protocol::Compile::arch},
                                                              Field{"max_registers", &protocol::Compile::max_registers},
                                                              Field{"kernels", &protocol::Compile::kernels},
                                                              Field{"variables", &protocol::Compile::variables});
static_assert(lists_all_fields<protocol::Compile>());
template <>
inline constexpr auto kFields<protocol::Load> = std::tuple(Field{"module", &protocol::Load::module},
                                                           Field{"binary", &protocol::Load::binary},
                                                           Field{"plans", &protocol::Load::plans});
static_assert(lists_all_fields<protocol::Load>());
template <>
inline constexpr auto kFields<protocol::Unload> = std::tuple(Field{"module", &protocol::Unload::module});
static_assert(lists_all_fields<protocol::Unload>());
template <>
inline constexpr auto kFields<protocol::Run> = std::tuple(Field{"module", &protocol::Run::module},
                                                          Field{"shape", &protocol::Run::shape},
                                                          Field{"recipe", &protocol::Run::recipe},
                                                          Field{"repeats", &protocol::Run::repeats},
                                                          Field{"sanitised", &protocol::Run::sanitised},
                                                          Field{"case_name", &protocol::Run::case_name});
static_assert(lists_all_fields<protocol::Run>());
template <>
inline constexpr auto kFields<protocol::SkipProbe> = std::tuple(Field{"other", &protocol::SkipProbe::other},
                                                                Field{"call_us", &protocol::SkipProbe::call_us},
                                                                Field{"deterministic",
                                                                      &protocol::SkipProbe::deterministic});
static_assert(lists_all_fields<protocol::SkipProbe>());
template <>
inline constexpr auto kFields<protocol::Time> = std::tuple(Field{"module", &protocol::Time::module},
                                                           Field{"shape", &protocol::Time::shape},
                                                           Field{"rotation", &protocol::Time::rotation},
                                                           Field{"timing", &protocol::Time::timing},
                                                           Field{"afterwards", &protocol::Time::afterwards},
                                                           Field{"answered", &protocol::Time::answered},
                                                           Field{"probe", &protocol::Time::probe});
static_assert(lists_all_fields<protocol::Time>());
template <>
inline constexpr auto kFields<protocol::ReadCounters> = std::tuple(Field{"module", &protocol::ReadCounters::module},
                                                                   Field{"shape", &protocol::ReadCounters::shape},
                                                                   Field{"recipe", &protocol::ReadCounters::recipe});
static_assert(lists_all_fields<protocol::ReadCounters>());
template <>
inline constexpr auto kFields<protocol::Model> = std::tuple(Field{"compile", &protocol::Model::compile},
                                                            Field{"plan", &protocol::Model::plan},
                                                            Field{"recipe", &protocol::Model::recipe});
static_assert(lists_all_fields<protocol::Model>());
template <>
inline constexpr auto kFields<protocol::Ready> = std::tuple(Field{"what", &protocol::Ready::what},
                                                            Field{"at_once", &protocol::Ready::at_once});
static_assert(lists_all_fields<protocol::Ready>());
template <>
inline constexpr auto kFields<protocol::Compiled> = std::tuple(Field{"binary", &protocol::Compiled::binary});
static_assert(lists_all_fields<protocol::Compiled>());
template <>
inline constexpr auto kFields<protocol::Ran> = std::tuple(Field{"unrepeatable", &protocol::Ran::unrepeatable});
template <>
inline constexpr auto kFields<protocol::Timed> = std::tuple(Field{"timing", &protocol::Timed::timing},
                                                            Field{"as_before", &protocol::Timed::as_before});
template <>
inline constexpr auto kFields<protocol::Profiled> = std::tuple(Field{"launches", &protocol::Profiled::launches});
static_assert(lists_all_fields<protocol::Profiled>());
template <>
inline constexpr auto kFields<protocol::Modelled> = std::tuple(Field{"binary", &protocol::Modelled::binary},
                                                               Field{"launches", &protocol::Modelled::launches},
                                                               Field{"failure", &protocol::Modelled::failure});
static_assert(lists_all_fields<protocol::Modelled>());
template <>
inline constexpr auto kFields<protocol::Failed> = std::tuple(Field{"failure", &protocol::Failed::failure});
static_assert(lists_all_fields<protocol::Failed>());
template <>
inline constexpr auto kFields<protocol::Broken> = std::tuple(Field{"message", &protocol::Broken::message});
static_assert(lists_all_fields<protocol::Broken>());
template <>
inline constexpr auto kFields<protocol::Started> = std::tuple<>();
template <>
inline constexpr auto kFields<protocol::Done> = std::tuple<>();

}  // namespace evo
