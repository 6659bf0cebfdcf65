// evo baseline: rivals of the toy task, whose times and answers a script decides.
#include <cstdio>

#include "bench.h"

using namespace evo::testing;

namespace {

/// A rival that adds two arrays of f32. Each argument is the name of one of its rivals, which says what it does.
const char* const kScript = R"python(#!/usr/bin/env python3
import array, json, os, sys, time

def read(spec):
    values = array.array("f")
    values.frombytes(open(spec["file"], "rb").read())
    return values

def answer(message):
    print(json.dumps(message), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    with open("asked", "a") as asked:
        asked.write(line)
    name = message.get("rival", "")
    if message["type"] == "task":
        if "absent" in sys.argv:
            answer({"rivals": [], "why": "libfast is not installed" + sys.argv.count("wordy") * (" " + "\u00e9" * 300)})
        else:
            answer({"rivals": [{"name": n, "version": "fake 1.0", "note": "in double" if n == "noted" else ""}
                               for n in sys.argv[1:]]})
    elif message["type"] == "run":
        if name == "refuses":
            answer({"error": "no kernel for this size"})
            continue
        if name == "dies":
            sys.exit("segmentation | fault")
        if name == "hangs":
            time.sleep(1000)
        for files in message["sets"]:
            a, b = (read(spec) for spec in files["inputs"])
            sign = -1 if name == "wrong" else 1
            scale = 1.03 if name == "inaccurate" else 1
            c = array.array("f", [scale * (x + sign * y) for x, y in zip(a, b)])
            if name == "short":
                c = c[:-1]
            open(files["outputs"][0]["file"], "wb").write(c.tobytes())
        answer({})
    else:
        if name == "dies later":
            sys.exit("lost in the second act")
        answer({"us": {"fast": 2.0, "wrong": 0.5, "slow": 40.0}.get(name, 8.0)})
)python";

/// A bench with elites of the toy task and the script as a shipped rival.
void prepare(const Bench& bench) {
  write_toy_task(bench);
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "6", "--seed", "1", "--quiet"}).code == 0);
  bench.write("rival.py", kScript);
}

/// The rivals of one command.
std::string rivals(const std::string& names) {
  return "python3 rival.py " + names;
}

const nlohmann::json& rival_named(const nlohmann::json& document, const std::string& name) {
  for (const auto& rival : document["sittings"][0]["rivals"])
    if (rival["name"] == name) return rival;
  FAIL("no rival " << name);
  return document;
}

}  // namespace

TEST_CASE("rivals are given the timed inputs, judged by the task's limits, and timed with the candidate") {
  const Bench bench;
  prepare(bench);
  const auto document = bench.json({"baseline", "--rival", rivals("fast slow noted wrong")});
  const auto& sitting = document["sittings"][0];
  CHECK(sitting["task"] == "toy");
  CHECK(sitting["candidate"] == std::stoi(best_of(bench)));
  CHECK(sitting["device"]["id"] == "vgpu:h200");
  CHECK(sitting["rounds_us"].size() == 1);
  const double ours = sitting["median_us"];
  CHECK(rival_named(document, "fast")["verdict"] == "valid");
  CHECK(rival_named(document, "fast")["median_us"] == 2.0);
  CHECK(rival_named(document, "fast")["relative_l2"].get<double>() < 1e-7);
  CHECK(rival_named(document, "slow")["ratio"]["mean"].get<double>() == 40.0 / ours);
  CHECK(rival_named(document, "noted")["note"] == "in double");
  CHECK(rival_named(document, "noted")["version"] == "fake 1.0");
  // The fastest of all, and wrong: it is no best rival.
  const auto& wrong = rival_named(document, "wrong");
  CHECK(wrong["verdict"] == "wrong_answer");
  CHECK(holds(wrong["reason"], "c: relative L2"));
  CHECK(wrong["relative_l2"].get<double>() > 0.5);
  CHECK(wrong["median_us"] == 0.5);
  CHECK(sitting["best_rival"] == "fast");

  // What it was given.
  const auto task = nlohmann::json::parse(bench.read("asked").substr(0, bench.read("asked").find('\n')));
  CHECK(task["task"] == "toy");
  CHECK(task["options"]["mode"] == "exact");
  CHECK(task["shapes"]["middle"]["N"] == 700);
  CHECK(task["device"]["kind"] == "vgpu");
  const std::string asked = bench.read("asked");
  CHECK(holds(asked, R"("dtype":"f32","dims":[700])"));
  CHECK(asked.find(R"("type":"run")") < asked.find(R"("type":"time")"));
  CHECK(holds(asked, R"("warm_up_s":0.1,"seconds":0.1,"average":"median")"));
  bench.json({"baseline", "--rival", rivals("fast"), "--turn", "3s"});
  CHECK(holds(bench.read("asked"), R"("warm_up_s":1.5,"seconds":1.5,"average":"mean")"));
}

TEST_CASE("beside rivals stands the candidate's error on inputs like theirs, not its worst one") {
  const ToyBench bench;
  // Larger sums, as those of the regime peaked, err by more.
  bench.change("templates/toy/plain/kernel.cu", "b[i${item}];", "b[i${item}] * (1.0f + 1e-6f * b[i${item}]);");
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "2", "--seed", "1", "--quiet"}).code == 0);
  bench.write("rival.py", kScript);
  const nlohmann::json shown = bench.json({"show", best_of(bench)});
  std::map<std::string, double> worst;  // By regime.
  for (const auto& one : shown["evaluation"]["cases"])
    if (one["shape"] == "middle")
      worst[one["regime"]] = std::max(worst[one["regime"]], one["relative_l2"].get<double>());
  REQUIRE(worst["peaked"] > 2 * worst["normal"]);
  CHECK(bench.json({"baseline", "--rival", rivals("fast")})["sittings"][0]["relative_l2"] == worst["normal"]);
}

TEST_CASE("what is stored of rivals is shown with elites, candidates and runs, and exported", "[long]") {
  const Bench bench;
  prepare(bench);
  const std::string best = best_of(bench);
  for (const char* command : {"elites", "runs"}) CHECK_FALSE(holds(bench.evo({command}).out, "rival"));
  const auto document = bench.json({"baseline", "--rival", rivals("fast slow")});
  const double ratio = rival_named(document, "fast")["ratio"]["mean"];
  char text[32];
  std::snprintf(text, sizeof text, "%.3gx", ratio);
  const std::string line = std::string(text) + " the best rival (fast, same sitting)";
  CHECK(holds(bench.evo({"elites"}).out, "candidate " + best + ": " + line));
  CHECK(holds(bench.evo({"show", best}).out, line));
  CHECK(holds(bench.evo({"runs"}).out, "run 1, candidate " + best + ": " + line));
  CHECK(holds(bench.evo({"runs", "1"}).out, line));
  CHECK(holds(bench.evo({"report", "1"}).out, line));
  CHECK(holds(bench.evo({"export", best}).out, "//   rivals     " + line));
  CHECK(bench.json({"show", best})["sittings"][0]["rivals"].size() == 2);
  const auto beside = bench.json({"front", "--task", "toy"})["fronts"][0]["rivals"];
  REQUIRE(beside.size() == 2);
  CHECK(beside[0]["name"] == "fast");
  CHECK(beside[0]["latency_us"] == rival_named(document, "fast")["median_us"]);
  CHECK(beside[1]["name"] == "slow");
  // An export verifies as before, and so does a candidate.
  REQUIRE(bench.evo({"export", best, "-o", "best.cu"}).code == 0);
  CHECK(bench.evo({"verify", "best.cu"}).code == 0);

  const Outcome table = bench.evo({"baseline", "--table"});
  CHECK(table.code == 0);
  CHECK(holds(table.out, "## toy on NVIDIA H200 (virtual): latency\n\nmiddle mode=exact\n\n"));
  CHECK(holds(table.out, "| program | version | modelled us |"));
  CHECK(holds(table.out, "| **candidate " + best + "** | evo "));
  CHECK(holds(table.out, "| fast | fake 1.0 | 2.000 | "));
  CHECK(bench.json({"baseline", "--table"})["sittings"].size() == 1);
  CHECK(bench.evo({"baseline", "--table", "--task", "other"}).out.empty());
}

TEST_CASE("a rival on another model of device is stored, and never held against the candidate") {
  const Bench bench;
  prepare(bench);
  REQUIRE(bench.evo({"baseline", best_of(bench), "--device", "vgpu:h100", "--rival", rivals("fast")}).code == 0);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"elites"}, {"runs"}, {"show", best_of(bench)}, {"export", best_of(bench)}}) {
    INFO(command.front());
    CHECK_FALSE(holds(bench.evo(command).out, "best rival"));
  }
  CHECK(holds(bench.evo({"baseline", "--table"}).out, "## toy on NVIDIA H100"));
}

TEST_CASE("a rival that refuses, dies, hangs, writes too little or lacks its library is one line; the others go on",
          "[long]") {
  const Bench bench;
  prepare(bench);
  const Outcome outcome =
      bench.evo({"baseline", "--deadline", "20s", "--rival", rivals("refuses dies slow hangs short 'dies later' fast"),
                 "--rival", rivals("absent"), "--rival", "exit 3 # silent", "--json"});
  CHECK(outcome.code == 0);
  const auto document = nlohmann::json::parse(outcome.out);
  const auto verdict = [&](const std::string& name) { return rival_named(document, name)["verdict"]; };
  CHECK(verdict("refuses") == "unsupported");
  CHECK(verdict("dies") == "crashed");
  CHECK(verdict("hangs") == "timed_out");
  CHECK(verdict("short") == "unsupported");
  CHECK(verdict("dies later") == "crashed");
  CHECK(verdict("slow") == "valid");
  CHECK(verdict("fast") == "valid");
  CHECK(document["sittings"][0]["best_rival"] == "fast");
  CHECK(rival_named(document, "dies later")["median_us"].is_null());
  for (const std::string line :
       {"refuses: no kernel for this size\n", "dies: it has ended (segmentation | fault)\n", "no answer within 20 s",
        "short: it wrote 2796 bytes of c instead of 2800\n", "dies later: it has ended (lost in the second act)\n",
        "absent: libfast is not installed\n", "exit 3 # silent: it has ended\n"}) {
    INFO(line);
    CHECK(holds(outcome.err, line));
  }
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 7);
  // A bar in a reason does not break the table.
  CHECK(holds(bench.evo({"baseline", "--table"}).out, "crashed: it has ended (segmentation \\| fault)"));
}

TEST_CASE("no rival, an unknown one and a wrong candidate are refused in one line", "[long]") {
  const Bench bench;
  prepare(bench);
  const Outcome none = bench.evo({"baseline", "--rival", rivals("absent")});
  CHECK(none.code == 3);
  CHECK(holds(none.err, "evo: no rival of toy can run here"));
  check_refused(bench.evo({"baseline", "--rival", "torch_libary"}), 2, {"unknown rival", "torch_library"});
  check_refused(bench.evo({"baseline", "99", "--rival", rivals("fast")}), 2, {"no candidate 99"});
  check_refused(bench.evo({"baseline", "--rounds", "1", "--rival", rivals("fast")}), 2, {"--rounds"});
  check_refused(bench.evo({"baseline", "--turn", "20s", "--rival", rivals("fast")}), 2,
                {"--turn '20s'", "0.1s to 10s"});
  check_refused(bench.evo({"baseline", "--db", "none.db"}), 2, {"there is no database none.db"});
  // Long reasons end with a whole character.
  const std::string wordy = bench.evo({"baseline", "--rival", rivals("absent wordy")}).err;
  CHECK(holds(wordy, "libfast is not installed \u00e9\u00e9"));
  CHECK(nlohmann::json(wordy).dump().size() < 700);  // Throws for what is no UTF-8.
  // Every rival wrong: stored, and an exit code that says so.
  CHECK(bench.evo({"baseline", "--rival", rivals("wrong")}).code == 1);
}

TEST_CASE("the shipped rivals are listed, and say in one line why they cannot run on a virtual GPU", "[long]") {
  const Bench bench;
  const Outcome list = bench.evo({"baseline", "--list"});
  for (const char* name :
       {"cublas ", "cudnn_attention ", "flash_attention3 ", "torch_compile ", "torch_library ", "triton_attention "}) {
    INFO(name);
    CHECK(holds(list.out, name));
  }
  for (const char* part : {"torch_calls", "flash_attention3_build", "flash_attention3_check"})
    CHECK_FALSE(holds(list.out, part));
  REQUIRE(bench.evo({"run", "--task", "softmax", "--device", "vgpu", "--evals", "2", "--seed", "1", "--quiet"}).code ==
          0);
  const Outcome outcome = bench.evo({"baseline"});
  CHECK(outcome.code == 3);
  CHECK(holds(outcome.err, "torch_library: it needs a GPU, not vgpu:h200\n"));
}

TEST_CASE("a rival beside the front may err by more than the objective admits, but not be wrong", "[long]") {
  const Bench bench;
  prepare(bench);
  REQUIRE(bench.evo({"baseline", "--rival", rivals("fast inaccurate wrong"), "--rounds", "3"}).code == 0);
  const nlohmann::json json = bench.json({"front", "--task", "toy"});
  std::map<std::string, double> errors;
  for (const nlohmann::json& rival : json["fronts"][0]["rivals"]) errors[rival["name"]] = rival["error"];
  REQUIRE(errors.size() == 2);
  CHECK(errors.at("fast") < 1e-6);
  CHECK(errors.at("inaccurate") > 0.029);
  CHECK(errors.at("inaccurate") < 0.031);
}

TEST_CASE("sittings go with their candidates into a merged database, once") {
  const Bench bench;
  prepare(bench);
  REQUIRE(bench.evo({"baseline", "--rival", rivals("fast wrong")}).code == 0);
  REQUIRE(
      bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "1", "--seed", "9", "--db", "all.db"}).code ==
      0);
  for (int i = 0; i < 2; ++i) REQUIRE(bench.evo({"db", "merge", "runs/evo.db", "--db", "all.db"}).code == 0);
  const auto there = bench.json({"baseline", "--table", "--db", "all.db"})["sittings"];
  auto here = bench.json({"baseline", "--table"})["sittings"];
  REQUIRE(there.size() == 1);
  here[0]["candidate"] = there[0]["candidate"];  // It has another number there.
  CHECK(there == here);
  CHECK(bench.json({"show", std::to_string(there[0]["candidate"].get<int>()), "--db", "all.db"})["sittings"].size() ==
        1);
  CHECK(bench.evo({"db", "check", "--db", "all.db"}).code == 0);
}
