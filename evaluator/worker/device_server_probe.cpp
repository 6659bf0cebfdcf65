#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "engine/base/error.h"
#include "engine/base/number.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/log.h"
#include "evaluator/base/random.h"
#include "evaluator/device/constants.h"
#include "evaluator/device/digest.h"
#include "evaluator/numbers/elements.h"
#include "evaluator/worker/device_server.h"

// How a device's worker looks for skipped work.
namespace evo {
namespace {

/// A GPU is asked again before a candidate is rejected for what it took.
constexpr int kAttempts = 2;

Failure skips(std::string how) {
  return {.verdict = Verdict::skips_work, .reason = std::move(how)};
}

/// Whether an element has the poison's bytes alone in the first, and others in the second.
bool left_poisoned(std::span<const std::byte> found, std::span<const std::byte> fresh, std::size_t element_bytes) {
  const auto is_poison = [](std::byte one) { return one == poison_byte(0); };
  for (std::size_t at = 0; at + element_bytes <= std::min(found.size(), fresh.size()); at += element_bytes)
    if (std::ranges::all_of(found.subspan(at, element_bytes), is_poison) &&
        !std::ranges::all_of(fresh.subspan(at, element_bytes), is_poison))
      return true;
  return false;
}

bool left_poisoned(const Plan& plan, std::span<const std::byte> found, std::span<const std::byte> fresh) {
  for (const PlanTensor& tensor : plan.tensors) {
    if (!tensor.output) continue;
    const std::size_t bytes = std::min<std::size_t>(tensor.bytes, found.size());
    if (left_poisoned(found.first(bytes), fresh.first(bytes), std::max<std::size_t>(size_of(tensor.dtype), 1)))
      return true;
    found = found.subspan(bytes);
    fresh = fresh.subspan(bytes);
  }
  return false;
}

// A call on results whose last bits differ changes weights by so many times the change of these bits, and by so much of
// what the first call changed them by; a call on the results themselves by less than a part of that.
constexpr double kOfLastBits = 16, kOfFirstChange = 0.1, kLess = 0.9;

/// Floats in a row that a call changes in place.
bool is_weights(const PlanTensor& tensor) {
  return tensor.is_changed_in_place() && tensor.strides.empty() && is_floating(tensor.dtype) &&
         size_of(tensor.dtype) >= 2;
}

/// Where the last bit moves a number. What rounds in one of these directions, as floor() does, leaves its own results
/// as they are in one of them at least.
enum class Nudge { up, down, outward, inward };
constexpr std::array kNudges = {Nudge::up, Nudge::down, Nudge::outward, Nudge::inward};

/// The bits of a number but 0, moved by the last one.
template <typename Bits>
void nudge(std::byte* number, Nudge to) {
  Bits bits = 0;
  std::memcpy(&bits, number, sizeof bits);
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  if ((bits & static_cast<Bits>(~kSign)) == 0) return;
  const bool is_outward = to == Nudge::outward || (to != Nudge::inward && (to == Nudge::up) == ((bits & kSign) == 0));
  bits = static_cast<Bits>(is_outward ? bits + 1 : bits - 1);
  std::memcpy(number, &bits, sizeof bits);
}

/// Every second element by chance with another last bit.
std::vector<std::byte> nudged(const PlanTensor& tensor, std::span<const std::byte> content, Nudge to) {
  std::vector<std::byte> changed(content.begin(), content.end());
  const std::size_t size = size_of(tensor.dtype);
  for (std::size_t at = 0; at + size <= changed.size(); at += size) {
    if ((mix(tensor.bytes, at) & 1) == 0) continue;
    if (size == 2) nudge<std::uint16_t>(&changed[at], to);
    if (size == 4) nudge<std::uint32_t>(&changed[at], to);
    if (size == 8) nudge<std::uint64_t>(&changed[at], to);
  }
  return changed;
}

/// The root of the sum of squared differences.
double distance(const PlanTensor& tensor, std::span<const std::byte> a, std::span<const std::byte> b) {
  double squares = 0;
  for (std::uint64_t i = 0; i < tensor.bytes / size_of(tensor.dtype); ++i) {
    const auto one = as_double(load_at(tensor.dtype, a.data(), i)),
               other = as_double(load_at(tensor.dtype, b.data(), i));
    if (std::isfinite(one) && std::isfinite(other)) squares += (one - other) * (one - other);
  }
  return std::sqrt(squares);
}

}  // namespace

/// Without room for a second case its inputs stay the first one's: then outputs alone change.
std::shared_ptr<const PristineInputs> DeviceServer::inputs_if_they_fit(
    const CaseRecipe& recipe, const std::shared_ptr<const PristineInputs>& otherwise) {
  try {
    return inputs_of(recipe);
  } catch (const Error&) {
    return otherwise;
  }
}

/// The set as a probe needs it: where its inputs come from, and which of them may change by elements.
ProbedSet DeviceServer::probed(const Call& call, const CaseRecipe& recipe, const BufferSet& set,
                               const std::array<const PristineInputs*, 2>& cases) {
  ProbedSet probed;
  for (std::size_t i = 0; i < cases.size(); ++i) probed.inputs[i] = set.placing(*cases[i]);
  std::size_t drawn = 0;
  for (std::size_t i = 0; i < call.plan.tensors.size(); ++i) {
    const PlanTensor& tensor = call.plan.tensors[i];
    const std::size_t number = drawn;
    if (tensor.drawn()) ++drawn;
    if (tensor.bytes == 0) continue;
    Elements elements = elements_of(tensor, set.addresses().tensors[i]);
    if (elements.count == 0) continue;
    if (!tensor.drawn()) {
      probed.outputs.push_back(elements);
    } else if (number < recipe.inputs.size() && changes_by_element(recipe.inputs[number])) {
      elements.from = {cases[0]->address(number), cases[1]->address(number)};
      probed.changing.push_back(elements);
    }
  }
  return probed;
}

/// Runs a sequence alone. Its last call in each set must give what it gives in fresh memory.
std::optional<Failure> DeviceServer::compare_with_fresh(const Call& call, bool deterministic,
                                                        const CallSequence& sequence,
                                                        std::vector<std::unique_ptr<BufferSet>>& sets,
                                                        std::span<const Buffers> rotation) {
  std::optional<Failure> failure;
  device_.time_sequences(call.module, call.plan, rotation, std::span(&sequence, 1), 1, failure);
  const auto wanted = deterministic ? BufferSet::Wanted::digests : BufferSet::Wanted::outputs;
  for (std::size_t i = 0; i < sets.size() && !failure; ++i) {
    Readback found = sets[i]->readback(wanted), fresh = found;
    device_.read(found);
    sets[i]->forget_outputs();
    sets[i]->prepare_workspaces(1);
    const auto last = std::ranges::find(sequence.rbegin(), sequence.rend(), i, &CallStep::set);
    // Inputs that the call has changed in place; what is an output alone stays poisoned, as it was before the call.
    for (const std::vector<DeviceWrite>& batch : last->writes) device_.write(batch);
    failure = device_.run_and_read(call.module, call.plan, rotation[i], fresh);
    if (failure) break;
    const RunOutputs a = sets[i]->outputs(std::move(found)), b = sets[i]->outputs(std::move(fresh));
    if (deterministic ? a.digests != b.digests : left_poisoned(call.plan, a.bytes, b.bytes))
      return skips(
          "a call after its inputs changed and its outputs were poisoned leaves another answer than one in "
          "fresh memory");
  }
  return failure;
}

std::optional<Failure> DeviceServer::find_skips(const protocol::Time& request, const Call& call,
                                                std::vector<std::unique_ptr<BufferSet>>& sets,
                                                std::span<const std::shared_ptr<const PristineInputs>> inputs,
                                                std::span<const Buffers> rotation) {
  if (sets.empty()) return std::nullopt;
  const DeviceKind& kind = kind_named(device_.info().kind);
  // Variables are filled once, so what they hold does not change with the inputs.
  const bool same_inputs = constants_hold_inputs(call.plan);
  const auto other = same_inputs ? inputs.front() : inputs_if_they_fit(request.probe->other, inputs.front());
  std::vector<ProbedSet> probed_sets;
  for (std::size_t i = 0; i < sets.size(); ++i)
    probed_sets.push_back(probed(call, request.rotation[i], *sets[i], {inputs[i].get(), other.get()}));
  std::optional<std::string> how;
  for (int attempt = 0; attempt < (kind.modelled ? 1 : kAttempts); ++attempt) {
    const SkipProbe probe = make_skip_probe(probed_sets, request.probe->call_us, kind.modelled, digest_key() + attempt);
    std::optional<Failure> failure;
    const auto rounds = device_.time_sequences(call.module, call.plan, rotation, probe.sequences,
                                               kind.modelled ? 1 : kProbeRounds, failure);
    if (failure) return failure;
    how = skipped_work(probe, rounds, kind.modelled);
    log_line(LogLevel::debug, [&] { return request.shape + ": " + to_text(probe, rounds); });
    if (kind.modelled || rounds.empty()) break;
    const bool deterministic = request.probe->deterministic;
    failure = compare_with_fresh(call, deterministic, probe.sequences[SkipProbe::changed], sets, rotation);
    // One that works in place has changed the inputs since they were written.
    if (!failure && !sets.front()->works_in_place())
      failure = compare_with_fresh(call, deterministic, probe.sequences[SkipProbe::few_changed], sets, rotation);
    if (failure) return failure;
    if (!how) return std::nullopt;
  }
  return how ? std::optional(skips(*std::move(how))) : std::nullopt;
}

/// Weights that a call leaves are what the next one begins with. It must not know that it has been there: it changes
/// them about as much as where a few last bits are others. What comes to rest, as numbers that are sorted, does so with
/// either.
std::optional<Failure> DeviceServer::call_on_results(const Call& call, const PristineInputs& inputs, BufferSet& set) {
  const std::vector<PlanTensor>& tensors = call.plan.tensors;
  if (std::ranges::none_of(tensors, is_weights)) return std::nullopt;
  std::optional<Failure> failure;
  const auto result = [&] {
    std::vector<std::byte> bytes;
    if (failure || (failure = device_.run(call.module, call.plan, set.addresses()))) return bytes;
    Readback read = set.readback(BufferSet::Wanted::outputs);
    device_.read(read);
    return set.outputs(std::move(read)).bytes;
  };
  /// visit(tensor, its number, its number among drawn ones, its place among the outputs' bytes)
  const auto each = [&](auto visit) {
    std::size_t drawn = 0, place = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (is_weights(tensors[i])) visit(tensors[i], i, drawn, place);
      drawn += tensors[i].drawn() ? 1 : 0;
      place += tensors[i].output ? tensors[i].bytes : 0;
    }
  };
  set.replace_inputs(inputs);
  const std::vector<std::byte> first = result(), second = result();
  if (failure) return failure;
  for (const Nudge to : kNudges) {
    std::map<std::size_t, std::vector<std::byte>> others;
    each([&](const PlanTensor& tensor, std::size_t number, std::size_t, std::size_t place) {
      others[number] = nudged(tensor, std::span(first).subspan(place, tensor.bytes), to);
      device_.upload(set.addresses().tensors[number], others[number]);
    });
    const std::vector<std::byte> third = result();
    if (failure) return failure;
    std::optional<Failure> found;
    each([&](const PlanTensor& tensor, std::size_t number, std::size_t drawn, std::size_t place) {
      const auto of = [&](const std::vector<std::byte>& bytes) {
        return std::span(bytes).subspan(place, tensor.bytes);
      };
      const double changed = distance(tensor, of(first), inputs.content(drawn)),
                   again = distance(tensor, of(second), of(first)), bits = distance(tensor, others[number], of(first)),
                   with_other_bits = distance(tensor, of(third), others[number]);
      if (with_other_bits > std::max(kOfLastBits * bits, kOfFirstChange * changed) && again < kLess * with_other_bits)
        found =
            skips(fmt::format("a call on the {} that it has left changes it by {:.2g}, and by {:.2g} where last bits "
                              "of it are others",
                              tensor.name, again, with_other_bits));
    });
    if (!found || to == kNudges.back()) return found;
  }
  return std::nullopt;
}

/// Two calls on the drawn inputs, the second with poisoned outputs and workspaces as the first one left them. One is
/// enough where a sanitiser has found every kernel that reads what was there before.
std::optional<Failure> DeviceServer::call_again(const Call& call, const PristineInputs& inputs, BufferSet& set) {
  set.replace_inputs(inputs);
  if (kind_named(device_.info().kind).sanitises) return device_.run(call.module, call.plan, set.addresses());
  if (auto failure = device_.run(call.module, call.plan, set.addresses())) return failure;
  set.forget_outputs();
  set.replace_inputs(inputs);
  return device_.run(call.module, call.plan, set.addresses());
}

}  // namespace evo
