#include "cli/rivals/rival_sitting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/subject/json.h"
#include "cli/subject/lookup.h"
#include "engine/base/error.h"
#include "engine/base/mean.h"
#include "engine/base/rng.h"
#include "evaluator/base/random.h"
#include "evaluator/base/statistics.h"
#include "evaluator/pipeline/outside_answers.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;
using Files = nlohmann::ordered_json;

/// A folder for the files of a sitting, removed with the object.
class SittingFolder {
 public:
  SittingFolder() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "evo-baseline-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr)
      throw machine_error("no folder can be made for the inputs of rivals: name one that can be written with TMPDIR");
    path_ = path;
  }
  ~SittingFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  SittingFolder(const SittingFolder&) = delete;
  SittingFolder& operator=(const SittingFolder&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

void write_bytes(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw machine_error(fmt::format("cannot write {}: is the disk full? TMPDIR names another", path.string()));
}

/// Appends what a rival wrote. Throws RivalRefusal when that is of another size.
void append_bytes(const fs::path& path, std::uint64_t expected, const std::string& name,
                  std::vector<std::byte>& bytes) {
  std::error_code error;
  const std::uint64_t size = fs::exists(path, error) ? fs::file_size(path, error) : 0;
  if (error || size != expected)
    throw RivalRefusal(fmt::format("it wrote {} bytes of {} instead of {}", size, name, expected));
  const std::size_t before = bytes.size();
  bytes.resize(before + expected);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data() + before), static_cast<std::streamsize>(expected));
  if (!file) throw machine_error(fmt::format("cannot read {}", path.string()));
}

/// One set of inputs of a shape, and where its outputs go.
struct SittingSet {
  const Case* one = nullptr;
  Files files;
};

struct SittingShape {
  Shape shape;
  Plan plan;  ///< The candidate's, with dense outputs.
  std::vector<SittingSet> sets;
};

Plan with_dense_outputs(Plan plan, const Task& task, const Bindings& known) {
  for (PlanTensor& tensor : plan.tensors) {
    if (!tensor.output || tensor.bytes == 0) continue;
    const Tensor* described = task.tensor(tensor.name);
    tensor.bytes = bytes_for(tensor.dtype, static_cast<std::uint64_t>(element_count(*described, known)));
    tensor.dims.clear();
    tensor.strides.clear();
  }
  return plan;
}

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
    return options;
  }

  // ---- What rivals are given

  void write_inputs() {
    for (const TimedShape& timed : answers_.cases().timed) {
      const auto program = program_for(candidate_, timed.shape.name);
      if (!program) throw machine_error("the candidate has no program for shape " + timed.shape.name);
      const Plan& plan = candidate_.programs[*program].plans.at(timed.shape.name);
      Bindings known = options_.target.options;
      for (const auto& [name, value] : timed.shape.parameters) known.insert_or_assign(name, value);
      SittingShape& shape = shapes_.emplace_back();
      shape.shape = timed.shape;
      shape.plan = with_dense_outputs(plan, options_.task, known);
      for (const std::size_t number : rotation_of(timed, plan))
        shape.sets.push_back(write_set(answers_.cases().cases[number], shape.plan, known));
    }
  }

  SittingSet write_set(const Case& one, const Plan& plan, const Bindings& known) {
    SittingSet set{&one, {{"inputs", Files::array()}, {"outputs", Files::array()}}};
    const std::vector<std::vector<std::byte>> contents = generate_inputs(one.recipe);
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const InputRecipe& input = one.recipe.inputs[i];
      if (input.elements == 0) continue;
      const fs::path path = next_file(input.name);
      write_bytes(path, contents[i]);
      set.files["inputs"].push_back(tensor_json(input.name, input.dtype, known, path));
      if (!input.strides.empty()) set.files["inputs"].back()["strides"] = input.strides;
    }
    for (const PlanTensor& tensor : plan.tensors) {
      if (!tensor.output || tensor.bytes == 0) continue;
      set.files["outputs"].push_back(tensor_json(tensor.name, tensor.dtype, known, next_file(tensor.name)));
    }
    return set;
  }

  fs::path next_file(const std::string& name) { return folder_ / fmt::format("{}-{}.bin", files_++, name); }

  Files tensor_json(const std::string& name, DType dtype, const Bindings& known, const fs::path& path) const {
    return {{"name", name},
            {"dtype", name_of(dtype)},
            {"dims", dims_of(*options_.task.tensor(name), known)},
            {"file", path.string()}};
  }

  Files task_message() const {
    Files shapes = Files::object();
    for (const SittingShape& shape : shapes_) shapes[shape.shape.name] = bindings_json(shape.shape.parameters);
    const DeviceInfo& device = request_.device;
    return {{"type", "task"},
            {"task", options_.task.name},
            {"summary", options_.task.summary},
            {"options", bindings_json(options_.target.options)},
            {"shapes", shapes},
            {"device",
             {{"id", device.id},
              {"kind", device.kind},
              {"name", device.name},
              {"arch", device.arch},
              {"uuid", device.uuid}}}};
  }

  // ---- Who is there, and whether the answers are right

  void start_rivals() {
    const Files task = task_message();
    for (const RivalCommand& command : request_.commands) {
      const fs::path errors = folder_ / fmt::format("{}.log", processes_.size());
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
      for (const SittingSet& set : shape.sets) sets.push_back(set.files);
      for (const SittingSet& set : shape.sets)
        for (const Files& output : set.files["outputs"]) fs::remove(output["file"].get<std::string>());
      one.process->run(one.rival.name, shape.shape.name, sets);
      for (const SittingSet& set : shape.sets) judge(one.rival, shape, set);
    }
  }

  void judge(RivalResult& rival, const SittingShape& shape, const SittingSet& set) {
    std::vector<std::byte> outputs;
    std::size_t number = 0;
    for (const PlanTensor& tensor : shape.plan.tensors) {
      if (!tensor.output || tensor.bytes == 0) continue;
      append_bytes(set.files["outputs"][number++]["file"].get<std::string>(), tensor.bytes, tensor.name, outputs);
    }
    const OutsideAnswer answer = answers_.judge(*set.one, shape.plan, outputs);
    rival.relative_l2 = std::max(rival.relative_l2.value_or(0), answer.relative_l2);
    if (!answer.why_wrong || rival.verdict == Verdict::wrong_answer) return;
    rival.verdict = Verdict::wrong_answer;
    rival.reason = fmt::format("shape {}: {}", shape.shape.name, *answer.why_wrong);
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
          times_us.push_back(one->process->time_us(one->rival.name, shape.shape.name));
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
  SittingFolder folder_;
  std::size_t files_ = 0;
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
