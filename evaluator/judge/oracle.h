#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "evaluator/base/recently_used.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/judge/cases.h"
#include "evaluator/judge/comparison.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// A plain kernel in double precision takes this many times as long as the candidates.
inline constexpr double kReferencePatience = 10;

/// Every output that is there, in the task's order.
using Expected = std::vector<ExpectedOutput>;

/// The reference's arguments for a case: tensors that are read and written hold the drawn values in the reference's own
/// types.
CaseRecipe reference_recipe(const Task& task, CaseRecipe recipe);

/// The reference's outputs in the form that is compared. `outputs`: the bytes of every output of its plan, in order.
Expected expected_outputs(const Plan& plan, std::span<const std::byte> outputs);
/// "y[3] was never written", of the bytes of every output of the reference's plan; empty when all are. Infinities and
/// NaN that it computes are answers.
std::string why_not_written(const Plan& plan, std::span<const std::byte> outputs);
/// "y has no finite value"; empty when every output has one. On usual inputs a reference has.
std::string why_no_answer(const Plan& plan, const Expected& expected);
/// Keeps what floats that are read and written hold before the call. `recipe`: the candidates'.
void note_drawn(const Task& task, const Bindings& options, const CaseRecipe& recipe, Expected& expected);
/// The limits of a case of another regime than the first, for whose inputs a limit of each element in absolute numbers
/// is meant: it grows as the answer's root mean square does, and the dtype's usual relative error passes, too.
Limits grown(Limits limits, const ExpectedOutput& answer, const ExpectedOutput& ordinary);
/// The ordinary case of a shape: the first regime's first draw. Every shape of a plan has it.
std::size_t ordinary_case(const Task& task, const Target& target, const CasePlan& plan, const Case& one);

/// Expected outputs by case. They never enter a process that runs candidates. Nobody waits for what nobody computes:
/// either whoever asks computes, or a thread that holds a Filling does, and without one asking is an error.
class OracleStore {
 public:
  using Compute = std::function<std::shared_ptr<const Expected>(std::size_t number)>;

  /// To be filled.
  explicit OracleStore(std::size_t cases) : expected_(cases) {}
  /// To be filled but for some cases, which nobody may ask for.
  explicit OracleStore(const std::vector<bool>& left_out) : left_out_(left_out), expected_(left_out.size()) {}
  /// Whoever asks for one that is not there computes it. Used by one thread.
  OracleStore(std::size_t cases, Compute compute) : compute_(std::move(compute)), expected_(cases) {}

  /// While it lives oracles are to come: made before anybody asks, given up when the worker that computes has ended.
  class Filling {
   public:
    explicit Filling(OracleStore& store);
    ~Filling();
    Filling(const Filling&) = delete;
    Filling& operator=(const Filling&) = delete;
    bool wants(std::size_t number) const { return store_.has_or_gets(number); }
    void put(std::size_t number, Expected expected);
    /// No further oracle will come: readers get this error.
    void fail(std::exception_ptr error);

   private:
    OracleStore& store_;
  };

  /// False: that case's never comes.
  bool has_or_gets(std::size_t number) const { return left_out_.empty() || !left_out_[number]; }
  /// Waits for one case's while there is a Filling. Throws the error that `fail` was given, machine_error where nobody
  /// computes it, what `compute` throws.
  std::shared_ptr<const Expected> get(std::size_t number);
  /// Waits for the end of the Filling, because nothing else may run on a GPU while a candidate is timed. Throws as
  /// `get` does.
  void wait_until_finished();

 private:
  const Compute compute_;
  const std::vector<bool> left_out_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<const Expected>> expected_;
  std::exception_ptr failure_;
  bool filling_ = false;
};

/// Compiles the reference and runs it on every case that the store is to have, the smoke case first, in worker
/// processes of its own. Throws usage_error for a reference that does not compile, fails, or leaves elements unwritten.
void compute_oracles(const PipelineOptions& options, const CasePlan& plan, const StopSignal& stop,
                     OracleStore::Filling& store);

/// Oracles of one reference that were computed once, by the case's recipe: all devices of a run share them. Oracles
/// that were not used for long are forgotten. Any thread may ask.
class KnownOracles {
 public:
  using Compute = std::function<std::shared_ptr<const Expected>()>;

  /// The one that is known, or else what `compute` gives. Who asks while another thread computes it waits for that;
  /// where it fails there, it is computed here. Throws what `compute` throws.
  std::shared_ptr<const Expected> get(const std::string& key, const Compute& compute);

 private:
  static constexpr std::size_t kMostBytes = std::size_t{2} << 30;

  std::mutex mutex_;
  std::condition_variable changed_;
  RecentlyUsed<std::shared_ptr<const Expected>> known_{kMostBytes};
  std::set<std::string> under_way_;
};

/// Oracles of further cases of the plan's shapes, computed when they are asked for. Used by one thread.
class ExtraOracles {
 public:
  /// Everything referred to must outlive it. `stop` may be null. `known`: those that are computed already; of the same
  /// reference.
  ExtraOracles(const PipelineOptions& options, const CasePlan& plan, const StopSignal* stop,
               std::shared_ptr<KnownOracles> known = std::make_shared<KnownOracles>());
  ~ExtraOracles();
  /// Throws as compute_oracles does.
  std::shared_ptr<const Expected> get(const Case& one);
  /// To be called before something is timed: a worker that may hold much of the device's memory ends. Another one has
  /// nothing to do until the next `get`.
  void rest();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The answer to a case of the plan: the store's, or else computed now.
std::shared_ptr<const Expected> answer_to(std::size_t number, const CasePlan& plan, OracleStore& store,
                                          ExtraOracles& further);

}  // namespace evo
