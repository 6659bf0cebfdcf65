#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

#include "bench.h"

using namespace evo::testing;

namespace {

namespace fs = std::filesystem;

/// Standard output of a line for sh, with standard error; `code` is its exit code. evo stands first in PATH.
std::string shell_says(const std::string& line, int* code = nullptr) {
  const std::string folder = fs::path(EVO_BINARY).parent_path().string();
  std::FILE* pipe = ::popen(("exec 2>&1; unset EVO_TEMPLATES; PATH='" + folder + "':$PATH; " + line).c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  const int status = ::pclose(pipe);
  if (code != nullptr) *code = WEXITSTATUS(status);
  return text;
}

void need_program(const std::string& name) {
  if (shell_says("command -v " + name).empty()) SKIP("no " << name << ": ./test all installs it");
}

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

using Lines = std::set<std::string>;

/// What evo itself answers to its scripts: the values alone.
Lines offered(const std::vector<std::string>& words) {
  std::vector<std::string> arguments = {"complete"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const Outcome outcome = run_evo(arguments, {.folder = EVO_SOURCE_DIR});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  Lines values;
  for (const std::string& line : lines_of(outcome.out)) values.insert(line.substr(0, line.find('\t')));
  return values;
}

/// COMPREPLY of a bash that completes `line`, which readline has split into `words`.
Lines bash_offers(const Bench& bench, const std::string& line, const std::string& words) {
  bench.write("ask.bash",
              "source <(evo completions bash)\ncd '" + bench.folder().string() + "'\nCOMP_LINE='" + line +
                  "' COMP_POINT=${#COMP_LINE}\nCOMP_WORDS=(" + words +
                  ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_evo evo\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
  return lines_of(shell_says("bash '" + (bench / "ask.bash").string() + "'"));
}

/// What fish offers for a line, without the descriptions.
Lines fish_offers(const Bench& bench, const std::string& line) {
  bench.write("ask.fish",
              "cd '" + bench.folder().string() + "'\nevo completions fish | source\ncomplete -C '" + line + "'\n");
  Lines values;
  for (const std::string& said : lines_of(shell_says("fish --no-config '" + (bench / "ask.fish").string() + "'")))
    values.insert(said.substr(0, said.find('\t')));
  return values;
}

}  // namespace

TEST_CASE("commands, their parts and the options that were not given yet are completed") {
  CHECK(offered({"ru"}) == Lines{"words", "run", "runs"});
  CHECK(offered({"help", "ru"}) == Lines{"words", "run", "runs"});
  CHECK(offered({"man", "ru"}) == Lines{"words", "run", "runs"});
  CHECK(offered({"db", ""}) == Lines{"words", "check", "compact", "merge"});
  CHECK(offered({"run", "--se"}) == Lines{"words", "--seed", "--seed-from"});
  CHECK(offered({"run", "--seed", "1", "--se"}) == Lines{"words", "--seed-from"});
  CHECK(offered({"run", "--seed=1", "--se"}) == Lines{"words", "--seed-from"});
  CHECK(offered({"show", "1", "--so"}) == Lines{"words", "--source"});
  // The value of --watch may be left out.
  CHECK(offered({"run", "--watch", "--se"}) == Lines{"words", "--seed", "--seed-from"});
  CHECK(offered({"run", "--watch", "--seed", "1", "--se"}) == Lines{"words", "--seed-from"});
  CHECK(offered({"run", "--watch", "80", "--se"}) == Lines{"words", "--seed", "--seed-from"});
  CHECK(offered({"complet"}) == Lines{"words", "completions"});
  CHECK(offered({"frobnicate", "x"}) == Lines{"words"});
  CHECK(run_evo({"complete"}).out == "words\n");
}

TEST_CASE("values are completed where the type of an option or the name of an argument knows them") {
  CHECK(offered({"run", "--answers", ""}) == Lines{"words", "asked", "finished"});
  CHECK(offered({"run", "--strategy=ge"}) == Lines{"words", "genetic"});
  CHECK(offered({"export", "--format", "k"}) == Lines{"words", "kernelbench", "kerneltuner"});
  CHECK(offered({"run", "--task", "fp8_"}) == Lines{"words", "fp8_attention", "fp8_qkt", "fp8_sdpa"});
  CHECK(offered({"check", "softm"}) == Lines{"files", "softmax"});
  CHECK(offered({"run", "--device", "vgpu:h"}) == Lines{"words", "vgpu:h100", "vgpu:h100_pcie", "vgpu:h200"});
  CHECK(offered({"run", "--devices", "vgpu:l4,vgpu:l"}) == Lines{"words", "vgpu:l4,vgpu:l4", "vgpu:l4,vgpu:l40s"});
  CHECK(offered({"completions", ""}) == Lines{"words", "bash", "fish", "zsh"});
  CHECK(offered({"run", "--db", ""}) == Lines{"files"});
  CHECK(offered({"db", "merge", "x"}) == Lines{"files"});
  CHECK(offered({"vgpu", "--", "-x"}) == Lines{"files"});
  CHECK(offered({"run", "--templates", ""}) == Lines{"folders"});
}

TEST_CASE("tasks of a folder of templates that the line names are completed") {
  const ToyBench bench;
  CHECK(offered({"run", "--templates", (bench / "templates").string(), "--task", "toy"}) == Lines{"words", "toy"});
  CHECK(offered({"run", "--templates", (bench / "nowhere").string(), "--task", ""}) == Lines{"words"});
}

TEST_CASE("the checkout's own ./evo answers a shell without building") {
  int code = 0;
  const std::string text = shell_says("cd '" EVO_SOURCE_DIR "' && ./evo complete elit", &code);
  CHECK((code == 3 ? text.empty() : text.starts_with("words\nelites\t")));
}

TEST_CASE("bash completes commands, values, devices with colons, and files") {
  const Bench bench;
  bench.write("best kernel.cu", "");
  bench.write("other.db", "");
  fs::create_directory(bench / "tasks");
  CHECK(shell_says("evo completions bash | bash -n").empty());
  CHECK(bash_offers(bench, "evo eli", "evo eli") == Lines{"elites"});
  CHECK(bash_offers(bench, "evo run --answers ", "evo run --answers ''") == Lines{"asked", "finished"});
  CHECK(bash_offers(bench, "evo run --answers=f", "evo run --answers = f") == Lines{"finished"});
  CHECK(bash_offers(bench, "evo run --answers=", "evo run --answers =") == Lines{"asked", "finished"});
  CHECK(bash_offers(bench, "evo run --device vgpu:h", "evo run --device vgpu : h") ==
        Lines{"h100", "h100_pcie", "h200"});
  CHECK(bash_offers(bench, "evo run --device=vgpu:h2", "evo run --device = vgpu : h2") == Lines{"h200"});
  CHECK(bash_offers(bench, "evo verify best", "evo verify best") == Lines{"best kernel.cu"});
  CHECK(bash_offers(bench, "evo run --db=oth", "evo run --db = oth") == Lines{"other.db"});
  CHECK(bash_offers(bench, "evo run --templates ", "evo run --templates ''") == Lines{"tasks"});
  CHECK(bash_offers(bench, "evo run --evals ", "evo run --evals ''") == Lines{""});
}

TEST_CASE("fish completes commands, values, devices and files") {
  need_program("fish");
  const Bench bench;
  bench.write("other.db", "");
  CHECK(shell_says("evo completions fish | fish -n").empty());
  CHECK(fish_offers(bench, "evo eli") == Lines{"elites"});
  CHECK(fish_offers(bench, "evo run --answers ") == Lines{"asked", "finished"});
  CHECK(fish_offers(bench, "evo run --answers=f") == Lines{"--answers=finished"});
  CHECK(fish_offers(bench, "evo run --device vgpu:h2") == Lines{"vgpu:h200"});
  CHECK(fish_offers(bench, "evo run --db oth") == Lines{"other.db"});
  CHECK(fish_offers(bench, "evo run --db=oth") == Lines{"--db=other.db"});
  CHECK(fish_offers(bench, "evo run --evals ").empty());
}

TEST_CASE("zsh completes commands, values, devices and files") {
  need_program("zsh");
  CHECK(shell_says("evo completions zsh | zsh -n /dev/stdin").empty());
  const Bench bench;
  bench.write("other.db", "");
  // A zsh on a terminal of its own, whose TAB is pressed.
  bench.write("ask.zsh", R"(cd "${0:A:h}"
zmodload zsh/zpty
zpty shell zsh -f -i
send() { zpty -w shell $1; }
send 'PS1= PS2= RPS1=; stty -echo; unset zle_bracketed_paste; autoload -Uz compinit; compinit -D -u'
send 'source <(evo completions zsh); zstyle ":completion:*" list-prompt ""; LISTMAX=1000'
send 'try() { print -r -- "<$BUFFER>"; BUFFER=; }; zle -N try; bindkey "^T" try; print rea""dy'
zpty -r shell said '*ready*'
for line in "$@"; do
  zpty -w -n shell "$line"$'\t\x14'
  zpty -r shell said "*<*>*"
  said=${said##*<}
  print -r -- "${said%%>*}"
done
zpty -d shell
)");
  const Lines completed = lines_of(shell_says(
      "timeout 60 zsh -f '" + (bench / "ask.zsh").string() +
      "' 'evo eli' 'evo run --answers as' 'evo run --answers=f' 'evo run --device vgpu:h2' 'evo show --db oth'"));
  CHECK(completed == Lines{"evo elites ", "evo run --answers asked ", "evo run --answers=finished ",
                           "evo run --device vgpu:h200 ", "evo show --db other.db "});
}

TEST_CASE("there is a script for three shells, and another one is refused") {
  check_refused(run_evo({"completions", "tcsh"}), 2, {"unknown shell 'tcsh'", "bash, zsh, fish"});
  check_refused(run_evo({"completions"}), 2, {"bash|zsh|fish is required"});
}

TEST_CASE("the manual has a page of every command, with its options, and refuses another") {
  const std::string page = run_evo({"man", "run"}).out;
  CHECK(page.starts_with(".TH EVO\\-RUN 1 "));
  CHECK(holds(page, "\\fB\\-\\-strategy\\fR \\fIevolve|random|"));
  CHECK(holds(run_evo({"man", "db"}).out, "evo db merge"));
  CHECK(holds(run_evo({"man"}).out, ".SH EXIT CODES\n"));
  const Bench bench;
  CHECK(bench.evo({"man", "--output", bench.folder().string()}).code == 0);
  const std::vector<std::string> pages = bench.files();
  std::size_t commands = 0;
  for (const std::string& name : offered({""})) commands += name == "words" ? 0 : 1;
  CHECK(pages.size() == commands + 1);  // and evo.1
  check_refused(run_evo({"man", "rum"}), 2, {"unknown command 'rum'", "did you mean 'run'?"});
}

TEST_CASE("groff formats the manual's pages without a warning") {
  need_program("groff");
  const Bench bench;
  CHECK(bench.evo({"man", "--output", bench.folder().string()}).code == 0);
  CHECK(shell_says("cd '" + bench.folder().string() + "' && groff -man -ww -Tutf8 *.1 >/dev/null").empty());
}
