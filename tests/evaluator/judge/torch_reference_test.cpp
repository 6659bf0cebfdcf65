// The process that computes references in python. What torch computes there is tested with torch
// (tests/cli/import_problem_test.cpp).
#include "evaluator/judge/torch_reference.h"

#include <stdlib.h>

#include <fstream>

#include "evaluator/judge/cases.h"
#include "tests/evaluator/toy_task.h"

using namespace evo;
using namespace evo::testing;

namespace {

namespace fs = std::filesystem;

/// A python without torch that adds the toy task's inputs, whatever it is told to run.
class AddingPython {
 public:
  AddingPython() {
    std::string folder = (fs::temp_directory_path() / "evo_python_XXXXXX").string();
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    folder_ = folder;
    const fs::path program = folder_ / "python";
    std::ofstream(program) << R"(#!/usr/bin/env python3
import array, json, os
asked, answers = os.fdopen(3, "r"), os.fdopen(os.dup(3), "w")
def read(spec):
    return array.array("f", open(spec["file"], "rb").read())
print("{}", file=answers, flush=True)
for line in asked:
    message = json.loads(line)
    for output in message.get("outputs", []):
        with open(output["file"], "wb") as file:
            array.array("f", map(sum, zip(*map(read, message["inputs"])))).tofile(file)
    print("{}", file=answers, flush=True)
)";
    fs::permissions(program, fs::perms::owner_all);
    ::setenv("EVO_PYTHON", program.c_str(), 1);
  }
  ~AddingPython() {
    ::unsetenv("EVO_PYTHON");
    fs::remove_all(folder_);
  }

 private:
  fs::path folder_;
};

}  // namespace

TEST_CASE("a python that computes references and dies while it has nothing to do is started again") {
  const AddingPython python;
  const PipelineOptions options = toy_options();
  const CasePlan plan = plan_cases(options.task, options.target, "cuda", 1);
  {
    TorchReference reference(options, nullptr);
    const auto before = reference.compute(plan.cases[plan.smoke]);
    REQUIRE(before.size() == 1);
    kill_children();
    CHECK(reference.compute(plan.cases[plan.smoke])[0].bytes == before[0].bytes);
  }
  CHECK(no_children_left());
}
