#include "cli/rivals/rival_sitting.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/rivals/case_files.h"
#include "cli/subject/lookup.h"
#include "cli/text/result_text.h"
#include "engine/base/error.h"
#include "engine/base/mean.h"
#include "engine/base/rng.h"
#include "evaluator/base/random.h"
#include "evaluator/base/statistics.h"
#include "evaluator/judge/outside_answers.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

using Files = nlohmann::ordered_json;

/// A timed shape with the sets of inputs that timing alternates between.
struct SittingShape {
  Shape shape;
  std::vector<const Case*> cases;
  std::vector<CaseFiles> files;
};

/// A rival of a command, and what became of it.
struct Contender {
  RivalProcess* process = nullptr;
  RivalResult rival;
};

class RivalSitting {
 public:
  explicit RivalSitting(const SittingRequest& request)
      : request_(request),
        options_(pipeline_options(request)),
        candidate_(restored_candidate(request.candidate, options_.target)),
        answers_(options_),
        rng_(mix(options_.salt, "rivals")) {}

  Sitting hold() {
    write_inputs();
    start_rivals();
    for (std::unique_ptr<RivalProcess>& process : processes_) collect_offers(*process);
    for (Contender& one : contenders_) attempt(one, [&] { answer(one); });
    answers_.rest();
    const InterleavedTimings timings = take_turns();
    return record(timings);
  }

 private:
  static PipelineOptions pipeline_options(const SittingRequest& request) {
    PipelineOptions options;
    options.task = request.candidate.task;
    options.tree = request.candidate.files;
    options.target = request.candidate.run.info.target;
    options.target.validated = options.target.timed;  // It was validated when it was found.
    options.device = request.device;
    options.salt = fresh_salt();
    options.dedup = false;
    options.turn_s = request.turn_s;
    return options;
  }

  // ---- What rivals are given

  void write_inputs() {
    for (const TimedShape& timed : answers_.cases().timed) {
      const auto program = program_for(candidate_, timed.shape.name);
      if (!program) throw machine_error("the candidate has no program for shape " + timed.shape.name);
      SittingShape& shape = shapes_.emplace_back(SittingShape{timed.shape, {}, {}});
      for (const std::size_t number : rotation_of(timed, candidate_.programs[*program].plans.at(timed.shape.name))) {
        shape.cases.push_back(&answers_.cases().cases[number]);
        shape.files.emplace_back(folder_, fmt::format("{}-", number), options_.task, options_.target.options,
                                 *shape.cases.back());
      }
    }
  }

  // ---- Who is there, and whether the answers are right

  void start_rivals() {
    const Files task = task_message(options_.task, options_.target.options, options_.target.timed, request_.device);
    for (const RivalCommand& command : request_.commands) {
      const std::filesystem::path errors = folder_ / fmt::format("{}.log", processes_.size());
      processes_.push_back(std::make_unique<RivalProcess>(
          RivalProcessOptions{command, request_.deadline_s, request_.ends, errors}, task));
      processes_.back()->begin();
    }
  }

  void collect_offers(RivalProcess& process) {
    const auto say = [&](const char* why) { request_.notice(fmt::format("{}: {}", process.label(), why)); };
    try {
      for (RivalOffer& offer : process.offers()) {
        RivalResult rival;
        rival.name = std::move(offer.name);
        rival.version = std::move(offer.version);
        rival.note = std::move(offer.note);
        rival.verdict = Verdict::valid;
        contenders_.push_back({&process, std::move(rival)});
      }
    } catch (const RivalRefusal& refusal) {
      say(refusal.what());
    } catch (const LineFailure& failure) {
      say(failure.what());
    }
  }

  /// Does something with a rival that is still in. What goes wrong is its end.
  template <typename Action>
  void attempt(Contender& one, Action&& action) {
    if (one.rival.verdict != Verdict::valid && one.rival.verdict != Verdict::wrong_answer) return;
    try {
      action();
    } catch (const RivalRefusal& refusal) {
      drop(one, Verdict::unsupported, refusal.what());
    } catch (const LineTimeout& timeout) {
      drop(one, Verdict::timed_out, timeout.what());
    } catch (const LineFailure& failure) {
      drop(one, Verdict::crashed, failure.what());
    }
  }

  void drop(Contender& one, Verdict verdict, const std::string& reason) {
    one.rival.verdict = verdict;
    one.rival.reason = reason;
    one.rival.rounds_us.clear();
    request_.notice(fmt::format("{}: {}: {}", one.process->label(), one.rival.name, reason));
  }

  void answer(Contender& one) {
    for (const SittingShape& shape : shapes_) {
      Files sets = Files::array();
      for (const CaseFiles& files : shape.files) {
        files.remove_outputs();
        sets.push_back(files.json());
      }
      one.process->run(one.rival.name, shape.shape.name, sets);
      for (std::size_t i = 0; i < shape.files.size(); ++i) judge(one.rival, *shape.cases[i], shape.files[i]);
    }
  }

  void judge(RivalResult& rival, const Case& one, const CaseFiles& files) {
    const Plan plan = outputs_plan(options_.task, options_.target.options, one.shape);
    const OutsideAnswer answer = answers_.judge(one, plan, files.outputs());
    rival.relative_l2 = std::max(rival.relative_l2.value_or(0), answer.relative_l2);
    if (!answer.mismatch || rival.verdict == Verdict::wrong_answer) return;
    rival.verdict = Verdict::wrong_answer;
    rival.reason =
        fmt::format("shape {}: {}: {}", one.shape.name, answer.mismatch->output, miss_text(answer.mismatch->miss));
    request_.notice(fmt::format("{}: wrong answer: {}", rival.name, rival.reason));
  }

  // ---- Turns

  InterleavedTimings take_turns() {
    const std::unique_ptr<DevicePipeline> pipeline = make_pipeline(options_);
    // What the pipeline's thread must not throw.
    std::exception_ptr failure;
    const InterleavedTimings timings =
        pipeline->time_interleaved({candidate_}, request_.rounds, [&](const InterleavedTimings& so_far) {
          if (so_far.failures.front()) return true;
          try {
            time_rivals();
          } catch (...) {
            failure = std::current_exception();
          }
          return failure != nullptr;
        });
    if (failure) std::rethrow_exception(failure);
    if (timings.failures.front()) {
      throw machine_error(
          fmt::format("candidate {} cannot be timed: {}", request_.candidate.row.id, *timings.failures.front()));
    }
    return timings;
  }

  void time_rivals() {
    if (request_.ends && request_.ends()) throw LineInterrupted();
    std::vector<Contender*> order;
    for (Contender& one : contenders_) order.push_back(&one);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.below(i)]);
    for (Contender* one : order) {
      attempt(*one, [&] {
        std::vector<double> times_us;
        for (const SittingShape& shape : shapes_)
          times_us.push_back(one->process->time_us(one->rival.name, shape.shape.name, request_.turn_s));
        one->rival.rounds_us.push_back(geometric_mean(times_us));
      });
    }
  }

  Sitting record(const InterleavedTimings& timings) {
    Sitting sitting;
    sitting.candidate = request_.candidate.row.id;
    sitting.device = record_of(request_.device);
    sitting.salt = options_.salt;
    sitting.evo_version = EVO_VERSION;
    sitting.rounds_us = timings.rounds_us.front();
    sitting.median_us = median_interval(sitting.rounds_us).median;
    sitting.throttled = timings.throttled;
    for (Contender& one : contenders_) {
      RivalResult& rival = one.rival;
      if (!rival.rounds_us.empty()) {
        const PairedRatio ratio = paired_ratio(rival.rounds_us, sitting.rounds_us, timings.modelled);
        rival.median_us = median_interval(rival.rounds_us).median;
        rival.ratio = ratio.ratio;
        rival.ratio_low = ratio.low;
        rival.ratio_high = ratio.high;
      }
      sitting.rivals.push_back(std::move(rival));
    }
    return sitting;
  }

  const SittingRequest& request_;
  CaseFolder folder_;
  PipelineOptions options_;
  Candidate candidate_;
  OutsideAnswers answers_;
  Rng rng_;
  std::vector<SittingShape> shapes_;
  std::vector<std::unique_ptr<RivalProcess>> processes_;
  std::vector<Contender> contenders_;
};

}  // namespace

Sitting hold_sitting(const SittingRequest& request) {
  return RivalSitting(request).hold();
}

}  // namespace evo::cli
