#include "cli/subject/arguments.h"

#include <sys/stat.h>

#include <algorithm>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "bench.h"
#include "engine/base/error.h"

using namespace evo;
using namespace evo::cli;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("durations are read with their units") {
  using std::chrono::milliseconds;
  CHECK(parse_duration("--time", "90s") == milliseconds(90'000));
  CHECK(parse_duration("--time", "10m") == milliseconds(600'000));
  CHECK(parse_duration("--time", "1h") == milliseconds(3'600'000));
  CHECK(parse_duration("--time", "1h30m") == milliseconds(5'400'000));
  CHECK(parse_duration("--time", "1.5h") == milliseconds(5'400'000));
  CHECK(parse_duration("--time", "250ms") == milliseconds(250));
}

TEST_CASE("a duration without a unit, without an amount or of zero length is refused") {
  for (const char* text : {"", "10", "m", "10x", "1h30", "-5m", "0s", "1e3s", "nan s", "10 m", "inf"}) {
    INFO(text);
    CHECK_THROWS_MATCHES(parse_duration("--time", text), Error, MessageMatches(ContainsSubstring("--time")));
  }
  CHECK_THROWS_MATCHES(parse_duration("--time", "9999999h"), Error,
                       MessageMatches(ContainsSubstring("at most a year")));
}

TEST_CASE("numbers are whole, without sign and in range") {
  CHECK(parse_number("--evals", "40", 1) == 40);
  CHECK(parse_number("--seed", "18446744073709551615") == UINT64_MAX);
  for (const char* text : {"", "-1", "+1", "1.5", "0x10", "1e3", "18446744073709551616", "many"}) {
    INFO(text);
    CHECK_THROWS_MATCHES(parse_number("--seed", text), Error, MessageMatches(ContainsSubstring("--seed")));
  }
  CHECK_THROWS_MATCHES(parse_number("--evals", "0", 1), Error, MessageMatches(ContainsSubstring("at least 1")));
}

TEST_CASE("a candidate may be named with or without its number sign") {
  CHECK(parse_id("candidate", "17") == 17);
  CHECK(parse_id("candidate", "#17") == 17);
  for (const char* text : {"", "#", "0", "-1", "17a", "best"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_id("candidate", text), Error);
  }
}

TEST_CASE("bad arguments of a run are refused before anything is written") {
  const evo::testing::Bench bench;
  write_toy_task(bench);
  const std::vector<std::string> before = bench.files();
  const auto refused = [&](std::vector<std::string> arguments, const std::vector<std::string>& parts) {
    arguments.insert(arguments.begin(), "run");
    check_refused(bench.evo(arguments), 2, parts);
    CHECK(bench.files() == before);
  };
  refused({}, {"--task is missing", "toy"});
  refused({"--task", "toi"}, {"unknown task 'toi'", "did you mean 'toy'?"});
  refused({"--task", "toy", "--shapes", "midle"},
          {"unknown shape 'midle'", "did you mean 'middle'?", "tiny, middle, large"});
  refused({"--task", "toy", "--shapes", ""}, {"unknown shape ''"});
  refused({"--task", "toy", "--shapes", "0"}, {"0"});
  refused({"--task", "toy", "--option", "mod=exact"}, {"unknown option 'mod'", "did you mean 'mode'?"});
  refused({"--task", "toy", "--option", "mode=exakt"}, {"unknown value 'exakt'", "did you mean 'exact'?"});
  refused({"--task", "toy", "--option", "mode"}, {"name=value"});
  refused({"--task", "toy", "--option", "mode=exact", "--option", "mode=loose"}, {"mode", "twice"});
  refused({"--task", "toy", "--family", "plane"}, {"unknown family 'plane'", "did you mean 'plain'?"});
  refused({"--task", "toy", "--strategy", "evolv"}, {"unknown strategy 'evolv'", "did you mean 'evolve'?"});
  refused({"--task", "toy", "--evals", "0"}, {"--evals '0'", "at least 1"});
  refused({"--task", "toy", "--time", "10"}, {"--time '10'", "90s, 10m"});
  refused({"--task", "toy", "--seed", "lucky"}, {"--seed 'lucky'"});
  refused({"--task", "toy", "--device", "tpu"}, {"'tpu'", "cuda:N"});
  refused({"--task", "toy", "--device", "vgpu:h900"}, {"h900", "h200"});
  refused({"--resume", "1", "--task", "toy"}, {"--task cannot be combined with --resume"});
}

TEST_CASE("a path that leads nowhere, or to what is no file, is refused in one line by every option that takes one") {
  const evo::testing::Bench bench;
  write_toy_task(bench);
  bench.write("k.cu", "extern \"C\" __global__ void k(float* x) { *x = 1; }");
  std::filesystem::create_symlink("loop", bench / "loop");
  REQUIRE(::mkfifo((bench / "pipe").c_str(), 0600) == 0);
  const std::vector<std::vector<std::string>> commands = {{"runs", "--db", "@"},
                                                          {"run", "--task", "toy", "--device", "vgpu", "--db", "@"},
                                                          {"db", "merge", "@"},
                                                          {"db", "merge", "k.cu", "--db", "@"},
                                                          {"import", "@"},
                                                          {"replay", "@"},
                                                          {"space", "--t1", "@"},
                                                          {"tune", "@"},
                                                          {"tasks", "--templates", "@"},
                                                          {"runs", "--log", "@"},
                                                          {"vgpu", "@"},
                                                          {"verify", "@"}};
  for (const std::string& path : {std::string("loop"), std::string(300, 'n'), std::string("pipe")}) {
    for (std::vector<std::string> command : commands) {
      command[static_cast<std::size_t>(std::ranges::find(command, "@") - command.begin())] = path;
      CAPTURE(command);
      const evo::testing::Outcome outcome = bench.evo(command);
      check_refused(outcome, outcome.code == 3 ? 3 : 2, {});
      CHECK_FALSE(evo::testing::holds(outcome.err, "filesystem error"));
    }
  }
  CHECK(std::filesystem::is_symlink(bench / "loop"));
  const evo::testing::Outcome written = bench.evo({"vgpu", "k.cu", "--arg", "x=float[1]:0", "--out", "x=loop"});
  check_refused(written, 3, {"cannot write loop: Too many levels of symbolic links"});
  CHECK(std::filesystem::is_symlink(bench / "loop"));
}
