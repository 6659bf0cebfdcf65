// The process that computes references in python. What torch computes there is tested with torch
// (tests/cli/import_problem_test.cpp).
#include "evaluator/judge/torch_reference.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "evaluator/judge/cases.h"
#include "tests/evaluator/toy_task.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

/// A python without torch, whose program this is.
class FakePython {
 public:
  explicit FakePython(const std::string& text) {
    std::string folder = (fs::temp_directory_path() / "evo_python_XXXXXX").string();
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    folder_ = folder;
    const fs::path program = folder_ / "python";
    std::ofstream(program) << R"(#!/usr/bin/env python3
import array, json, os, time
asked, answers = os.fdopen(3, "r"), os.fdopen(os.dup(3), "w")
def say(text="{}\n"):
    answers.write(text)
    answers.flush()
)" << text;
    fs::permissions(program, fs::perms::owner_all);
    ::setenv("EVO_PYTHON", program.c_str(), 1);
  }
  ~FakePython() {
    ::unsetenv("EVO_PYTHON");
    fs::remove_all(folder_);
  }
  FakePython(const FakePython&) = delete;
  FakePython& operator=(const FakePython&) = delete;

 private:
  fs::path folder_;
};

/// Adds the toy task's inputs, whatever it is told to run.
const char* const kAdding = R"(
def read(spec):
    return array.array("f", open(spec["file"], "rb").read())
say()
for line in asked:
    message = json.loads(line)
    for output in message.get("outputs", []):
        with open(output["file"], "wb") as file:
            array.array("f", map(sum, zip(*map(read, message["inputs"])))).tofile(file)
    say()
)";

/// Loads, and then does this for a case.
std::string misbehaving(const std::string& line) {
  return "say()\nasked.readline()\nsay()\nmessage = json.loads(asked.readline())\n" + line + "\n";
}

/// What a reference says of a python of that kind.
void check_refused(const std::string& line, const std::string& why, double run_deadline_s = 60) {
  INFO(line);
  const FakePython python(misbehaving(line));
  PipelineOptions options = toy_options();
  options.run_deadline_s = run_deadline_s;  // An answer has ten times as long.
  const CasePlan plan = plan_cases(options.task, options.target, "cuda", 1);
  {
    TorchReference reference(options, nullptr);
    CHECK_THROWS_WITH(reference.compute(plan.cases[plan.smoke]), ContainsSubstring(why));
  }
  CHECK(no_children_left());
}

}  // namespace

TEST_CASE("a python that computes references and dies while it has nothing to do is started again") {
  const FakePython python(kAdding);
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

TEST_CASE("a reference in python that does not answer is ended at its deadline", "[long]") {
  check_refused("time.sleep(1000)", "no answer within 5 s", 0.5);
  check_refused("while True: pass", "no answer within 5 s", 0.5);
}

TEST_CASE("a reference in python that answers without an end is refused") {
  check_refused("while True: say('x' * 4096)", "an answer of more than 65536 bytes");
}

TEST_CASE("an output of a reference in python has the size that the task says, or is refused") {
  check_refused("open(message['outputs'][0]['file'], 'wb').truncate(1 << 40); say(); time.sleep(1000)",
                "is no file of");
  check_refused("say(); time.sleep(1000)", "is no file of");
  check_refused("os.symlink('/dev/zero', message['outputs'][0]['file']); say(); time.sleep(1000)", "is no file of");
}
