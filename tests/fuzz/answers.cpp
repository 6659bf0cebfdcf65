// What other programs answer: proposers, rivals, a model's server, workers, a reference in Python, and the python that
// describes somebody else's problem.
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/llm/chat.h"
#include "cli/model/profile_report.h"
#include "cli/proposer/line_process.h"
#include "cli/proposer/proposer_process.h"
#include "cli/rivals/foreign_problem.h"
#include "cli/rivals/rival_process.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/device/device_limits.h"
#include "engine/record/record_json.h"
#include "engine/result/profile.h"
#include "engine/search/proposed_templates.h"
#include "engine/space/space.h"
#include "engine/task/family.h"
#include "engine/task/target.h"
#include "engine/task/task.h"
#include "evaluator/judge/torch_process.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace evo;

const SourceTree kTree = {
    {"t/task.json",
     R"json({"summary": "y = 2 x", "shape_parameters": ["N"], "inputs": [{"name": "x", "dtype": "f32", "dims": ["N"]}],
      "outputs": [{"name": "y", "dtype": "f32", "dims": ["N"], "limits": {"atol": 1e-6}}], "shapes": {"small": {"N": 64}},
      "sets": {"vgpu": {"timed": ["small"], "validated": ["small"]}, "cuda": {"timed": ["small"], "validated": ["small"]}},
      "seeds": 1, "regimes": {"normal": {"distribution": "normal"}},
      "reference": {"kernel": "r", "grid": ["1", "1", "1"], "block": ["1", "1", "1"], "arguments": ["x", "y", "N"]}})json"},
    {"t/reference.cu", "extern \"C\" __global__ void r(const float* x, float* y, int n) { y[0] = n; }\n"},
    {"t/f/family.json",
     R"json({"summary": "f", "genes": [{"name": "block", "values": [32, 64]}, {"name": "body", "slot": true}],
      "launches": [{"kernel": "k", "grid": ["ceil_div(N, block)", "1", "1"], "block": ["block", "1", "1"],
                    "arguments": ["x", "y", "N"]}]})json"},
    {"t/f/kernel.cu", "extern \"C\" __global__ void k(const float* x, float* y, int n) {\n//% slot body\n}\n"},
    {"t/f/body/one.cu", "if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x];\n"}};

/// A proposer of the task above, which has seen one valid candidate.
struct Answering {
  Task task = load_task(kTree, "t");
  Target target = make_target(task, "vgpu", {}, {});
  DeviceInfo device;
  Space space{load_families(kTree, task), facts_of(device.limits), specialisations_of(task, target)};
  ProposedTemplates templates{kTree, task, target, facts_of(device.limits)};
  cli::ProposerProcess process{{}, "t", space, templates, {task, target, space, device, kTree, {}}};

  Answering() {
    Evaluation valid;
    valid.verdict = Verdict::valid;
    process.observe({.ticket = 1, .genome = {"f", {{"block", std::int64_t{32}}, {"body", std::string("one")}}}}, valid);
    process.keep_exchanges([](const ExchangeRecord&) { return std::int64_t{1}; });
  }
};

}  // namespace

EVO_FUZZ_TARGET(proposals) {
  static Answering answering;
  try {
    for (const Proposed& proposed : answering.process.read_proposals(text))
      if (!proposed.files.empty()) answering.templates.admit(proposed.genome, proposed.files);
  } catch (const Error&) {
    // It is told to the proposer.
  } catch (const std::exception&) {
    // It is started again.
  }
}

/// Counters, as a worker answers and a database holds them, and what is said of them.
EVO_FUZZ_TARGET(profile) {
  std::vector<Profile> profiles;
  try {
    require_shallow_json(text, "profile");
    profiles.push_back(from_json<Profile>(nlohmann::ordered_json::parse(text, nullptr, false), "profile"));
  } catch (const RecordError&) {
    return;
  }
  bounding_share(traits_of(profiles.front().launches));
  cli::bounds_text(profiles);
  cli::profiles_json(profiles);
  cli::profile_text(cli::by_shape(profiles).front(), {});
}

EVO_FUZZ_TARGET(rival_answer) {
  try {
    const auto answer = cli::read_rival_answer(text);
    text.size() % 2 == 0 ? void(cli::read_offers(answer)) : void(cli::read_time_us(answer));
  } catch (const cli::RivalRefusal&) {
    // It is shown.
  } catch (const cli::LineFailure&) {
    // It is started again.
  }
}

/// The HTTP body of a model's server, of an answer and of a refusal.
EVO_FUZZ_TARGET(completion) {
  for (const long status : {200L, 302L, 400L}) cli::read_reply({status, text, ""}, {"system", "user"}, 100);
  cli::read_reply({200, text, "no answer within 1 s"}, {"system", "user"}, 100);
}

EVO_FUZZ_TARGET(reference_answer) {
  read_torch_answer(text);
}

EVO_FUZZ_TARGET(problem) {
  cli::problem_described(text, {"p.py", "", "class Model: pass\n"});
}
