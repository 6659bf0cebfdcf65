#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "evaluator/base/recently_used.h"
#include "evaluator/base/spare_buffers.h"
#include "evaluator/device/device.h"
#include "evaluator/device/device_buffers.h"
#include "evaluator/device/skip_probe.h"
#include "evaluator/kernels/device_judge.h"
#include "evaluator/worker/protocol.h"

namespace evo {

/// Answers the requests of a device worker. Of expected outputs it knows those that it is asked to keep: hidden, on the
/// device (evaluator/kernels/device_judge.h).
class DeviceServer {
 public:
  explicit DeviceServer(Device& device);

  /// Makes a case's inputs ready on the device, so that the request that uses them does not wait for it.
  void draw(const CaseRecipe& recipe) { inputs_of(recipe); }
  /// Whether they are there.
  bool has_drawn(const CaseRecipe& recipe) const;

  /// Throw machine_error for failures of the machine, and for modules and shapes that were never loaded.
  protocol::Reply load(const protocol::Load& request);
  protocol::Reply unload(const protocol::Unload& request);
  protocol::Reply run(const protocol::Run& request);
  protocol::Reply keep_answer(const protocol::KeepAnswer& request);
  protocol::Reply time(const protocol::Time& request);
  protocol::Reply read_counters(const protocol::ReadCounters& request);
  /// What a reply brought, after it was sent.
  void take_back(std::vector<std::byte> outputs) { spares_.keep(std::move(outputs)); }

 private:
  using Digests = std::vector<std::uint64_t>;

  /// A program, and what it can be asked for.
  struct Loaded {
    std::unique_ptr<Module> module;
    std::map<std::string, Plan> plans;  ///< By shape name.
  };
  /// One of its plans.
  struct Call {
    const Module& module;
    const Plan& plan;
  };

  Call call(std::uint64_t module, const std::string& shape) const;
  void forget_answers(std::uint64_t module);
  std::shared_ptr<const PristineInputs> inputs_of(const CaseRecipe& recipe);
  std::optional<Failure> run_once(const Call& call, const protocol::Run& request, const PristineInputs& inputs,
                                  BufferSet& set, unsigned repeat, Readback& read);
  Readback outputs_wanted(const BufferSet& set);
  std::vector<std::byte> read_outputs(const BufferSet& set);
  std::vector<OutputSums> compared(const protocol::Run& request, const PristineInputs& inputs, BufferSet& set);
  std::optional<Failure> look_at(const protocol::Time& request, const CaseRecipe& recipe, const PristineInputs& inputs,
                                 BufferSet& set, protocol::Timed& timed);
  std::shared_ptr<const PristineInputs> inputs_if_they_fit(const CaseRecipe& recipe,
                                                           const std::shared_ptr<const PristineInputs>& otherwise);
  static ProbedSet probed(const Call& call, const CaseRecipe& recipe, const BufferSet& set,
                          const std::array<const PristineInputs*, 2>& cases);
  std::optional<Failure> compare_with_fresh(const Call& call, bool deterministic, const CallSequence& sequence,
                                            std::vector<std::unique_ptr<BufferSet>>& sets,
                                            std::span<const Buffers> rotation);
  std::optional<Failure> find_skips(const protocol::Time& request, const Call& call,
                                    std::vector<std::unique_ptr<BufferSet>>& sets,
                                    std::span<const std::shared_ptr<const PristineInputs>> inputs,
                                    std::span<const Buffers> rotation);
  std::optional<Failure> call_again(const Call& call, const PristineInputs& inputs, BufferSet& set);
  std::optional<Failure> call_on_results(const Call& call, const PristineInputs& inputs, BufferSet& set);
  std::unique_ptr<BufferSet> acquire(const Plan& plan);
  void release(std::unique_ptr<BufferSet> set);
  std::vector<LaunchProfile> model(const Call& call, CaseRecipe recipe, std::optional<Failure>& failure);
  BufferSet& modelled_set(const Plan& plan, const CaseRecipe& recipe);

  Device& device_;
  std::optional<DeviceJudge> judge_;
  std::map<std::uint64_t, Loaded> loaded_;  ///< By the parent's number.
  /// The answers given so far, by module and case. An answer that comes again is not sent again.
  std::map<std::pair<std::uint64_t, std::string>, Digests> answers_;
  /// By case. Every run gets a copy, always at the same addresses: a kernel that remembers an answer by the address of
  /// its input gives a wrong one.
  RecentlyUsed<std::shared_ptr<const PristineInputs>> inputs_;
  SpareBuffers spares_;
  std::vector<std::unique_ptr<BufferSet>> idle_sets_;
  std::size_t idle_bytes_ = 0;
  std::size_t idle_budget_;
  /// Of predictions, one after another: what buffers hold hardly matters to them, so one set serves a case's all.
  std::unique_ptr<BufferSet> modelled_set_;
  std::string modelled_case_;
};

}  // namespace evo
