#include <iterator>
#include <sstream>

#include "bench.h"
#include "cli/commands/commands.h"
#include "cli/shell/help_text.h"

using namespace evo::testing;

namespace {

#define EVO_NAME_OF(command) #command,
const std::vector<std::string> kCommands = {EVO_COMMANDS(EVO_NAME_OF)};
#undef EVO_NAME_OF

}  // namespace

TEST_CASE("evo without arguments prints the commands and the first steps") {
  const Outcome outcome = run_evo({});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  for (const std::string& command : kCommands) CHECK(outcome.out.find("  " + command + " ") != std::string::npos);
  CHECK(outcome.out.find("evo run --task fp8_sdpa") != std::string::npos);
  CHECK(outcome.out.find("Exit codes:") != std::string::npos);
  CHECK(outcome.out == run_evo({"--help"}).out);
}

TEST_CASE("the hidden worker command is not listed") {
  CHECK(run_evo({"--help"}).out.find("\n  worker") == std::string::npos);
}

TEST_CASE("a worker with an unknown role or without a number of threads is refused") {
  CHECK(run_evo({"worker", "device", "vgpu", "many"}).code == 2);
  CHECK(run_evo({"worker", "device", "vgpu", "0"}).code == 2);
  CHECK(run_evo({"worker", "nobody"}).code == 2);
  CHECK(run_evo({"guard", "echo nobody has started it"}).code == 2);
}

TEST_CASE("evo --version prints the version") {
  CHECK(run_evo({"-V"}).out == run_evo({"--version"}).out);
  const Outcome outcome = run_evo({"--version"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "evo 0.2.0\n");
}

TEST_CASE("every command prints its help") {
  for (const std::string& command : kCommands) {
    INFO(command);
    const Outcome outcome = run_evo({command, "--help"});
    CHECK(outcome.code == 0);
    CHECK(outcome.out.find("evo " + command) != std::string::npos);
    CHECK(run_evo({"help", command}).out == outcome.out);
  }
}

TEST_CASE("commands stand in groups, and each has an example in its help and its manual page") {
  const std::string help = run_evo({"--help"}).out;
  for (const char* group : {"\nSearch:\n", "\nLook:\n", "\nTake away:\n", "\nJudge:\n", "\nTools:\n"}) {
    INFO(group);
    CHECK(help.find(group) != std::string::npos);
  }
  CHECK(run_evo({"man"}).out.find(".SS Take away\n") != std::string::npos);
  for (const std::string& command : kCommands) {
    INFO(command);
    CHECK(run_evo({command, "--help"}).out.find("Example:\n  ") != std::string::npos);
    CHECK(run_evo({"man", command}).out.find(".SH EXAMPLE\n") != std::string::npos);
  }
}

TEST_CASE("help is broken between words to the width that there is, below the text that it goes on from") {
  const std::string help =
      "Usage: evo x\n\n  -a,--all WORD               One two three four five\n  --a-long-name WORD\n";
  CHECK(evo::cli::wrapped_help(help, 200) == help);
  CHECK(evo::cli::wrapped_help(help, 44) ==
        "Usage: evo x\n\n  -a,--all WORD               One two three\n                              four five\n"
        "  --a-long-name WORD\n");
  CHECK(evo::cli::wrapped_help("one two three", 7) == "one two\nthree");
  CHECK(evo::cli::wrapped_help("aVeryLongWordAlone b", 5) == "aVeryLongWordAlone\nb");
  CHECK(evo::cli::wrapped_help("", 5) == "");
  for (const std::string& command : kCommands) {
    std::istringstream lines(run_evo({command, "--help"}).out);
    for (std::string line; std::getline(lines, line);) {
      INFO(command << ": " << line);
      CHECK((line.size() <= 100 || line.find_first_of(' ', line.find_first_not_of(' ')) == std::string::npos));
    }
  }
}

TEST_CASE("README.md names every command") {
  std::ifstream file(EVO_SOURCE_DIR "/README.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& command : kCommands) {
    INFO(command);
    CHECK(text.find("`evo " + command) != std::string::npos);
  }
}

TEST_CASE("a mistyped command is refused with the nearest one") {
  check_refused(run_evo({"elite"}), 2, {"unknown command 'elite'", "did you mean 'elites'?"});
  check_refused(run_evo({"frobnicate"}), 2, {"unknown command 'frobnicate'", "run, tune, check, elites, show"});
}

TEST_CASE("a mistyped option is refused with the nearest one") {
  check_refused(run_evo({"run", "--taks", "x"}), 2, {"evo run has no option '--taks'", "'--task'"});
  check_refused(run_evo({"show", "1", "--sorce"}), 2, {"evo show has no option '--sorce'", "'--source'"});
  check_refused(run_evo({"--frobnicate"}), 2, {"unknown option '--frobnicate'", "evo --help"});
}

TEST_CASE("a superfluous argument is refused") {
  check_refused(run_evo({"show", "1", "2"}), 2, {"evo show takes no further argument '2'"});
  check_refused(run_evo({"run", "softmax"}), 2, {"takes no further argument 'softmax'", "named by --task softmax"});
}

TEST_CASE("a missing argument is refused") {
  check_refused(run_evo({"diff", "1"}), 2, {"B is required", "evo diff --help"});
  check_refused(run_evo({"run", "--task"}), 2, {"--task", "evo run --help"});
}

TEST_CASE("only one part of a candidate can be asked for at once") {
  check_refused(run_evo({"show", "1", "--source", "--log"}), 2, {"one thing at a time", "--samples"});
}

TEST_CASE("an unknown subcommand of evo db is refused, and the message lists the known ones") {
  check_refused(run_evo({"db", "nope"}), 2, {"evo db has no 'nope'", "check, compact, merge"});
  check_refused(run_evo({"db", "chek"}), 2, {"did you mean 'check'?"});
  check_refused(run_evo({"db"}), 2, {"evo db needs one of check, compact, merge"});
}
