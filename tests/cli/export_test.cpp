#include "bench.h"

using namespace evo::testing;

namespace {

void run_exported_toy(const Bench& bench, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"run",     "--task", "toy",    "--device", "vgpu",
                                        "--evals", "8",      "--seed", "1",        "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = bench.evo(arguments);
  REQUIRE(outcome.code == 0);
}

}  // namespace

TEST_CASE("the best elite is exported as one file, and an existing file is replaced as a whole") {
  const ToyBench bench;
  run_exported_toy(bench);
  bench.write("best.cu", "what was here before");
  const Outcome outcome = bench.evo({"export", "-o", "best.cu"});
  CHECK(outcome.code == 0);
  CHECK(holds(outcome.out, "candidate " + best_of(bench)));
  CHECK(holds(outcome.out, "nvcc "));
  const std::string text = bench.read("best.cu");
  CHECK(holds(text, "evo_toy("));
  CHECK(holds(text, "EVO_MAIN"));
  CHECK(bench.evo({"export"}).out == text);
  CHECK(bench.evo({"export", best_of(bench)}).out == text);
  for (const std::string& file : bench.files()) CHECK_FALSE(holds(file, ".tmp"));
}

TEST_CASE("the compile command of an export has the file's register limit and its name quoted for a shell") {
  const ToyBench bench;
  bench.change("templates/toy/plain/family.json", "{", "{\"max_registers\": \"64\",");
  run_exported_toy(bench);
  const Outcome one = bench.evo({"export", "-o", "it's best.cu"});
  CHECK(holds(one.out, " -maxrregcount=64 -DEVO_MAIN 'it'\\''s best.cu' -o best && ./best\n"));
  const Outcome several = bench.evo({"export", "--dispatch", "-o", "several.cu"});
  CHECK(holds(several.out, " -maxrregcount=64 -DEVO_MAIN several.cu -o best && ./best\n"));
  for (const auto& [file, said] : {std::pair("it's best.cu", one.out), std::pair("several.cu", several.out)}) {
    const std::string text = bench.read(file);
    const std::size_t command = said.find("nvcc ");
    CHECK(holds(text, said.substr(command, said.find(" -DEVO_MAIN") - command) + " -DEVO_MAIN FILE.cu "));
  }
}

TEST_CASE("the exported launcher has the name that is asked for", "[long]") {
  const ToyBench bench;
  run_exported_toy(bench);
  REQUIRE(bench.evo({"export", "--name", "my_toy", "-o", "best.cu"}).code == 0);
  const std::string text = bench.read("best.cu");
  CHECK(holds(text, "cudaError_t my_toy("));
  CHECK_FALSE(holds(text, "evo_toy"));
  CHECK(holds(bench.evo({"export", "--dispatch", "--name", "my_toys"}).out, "int my_toys_kernel("));
  const Outcome verified = bench.evo({"verify", "best.cu", "--device", "vgpu"});
  CHECK(verified.code == 0);
  CHECK(holds(verified.out, "launcher my_toy: not checked: vgpu:"));
  CHECK(holds(verified.out, " is no GPU\n"));
  const auto launcher = bench.json({"verify", "best.cu", "--device", "vgpu", "--kernels-only"})["launcher"];
  CHECK(launcher["right"].is_null());
  CHECK(launcher["why"] == "--kernels-only");
  CHECK(bench.json({"verify", best_of(bench)})["launcher"].is_null());
  check_refused(bench.evo({"export", "--name", "2nd"}), 2, {"'2nd' cannot be the launcher's name", "as my_toy"});
  check_refused(bench.evo({"export", "--name", "a", "--format", "csv"}), 2, {"--name", "--format"});
}

TEST_CASE("evo vgpu runs the kernels of an exported file") {
  const ToyBench bench;
  run_exported_toy(bench);
  REQUIRE(bench.evo({"export", "-o", "best.cu"}).code == 0);
  const auto genes = bench.json({"elites"})["elites"][0]["genome"]["genes"];
  const auto ran =
      bench.json({"vgpu", "best.cu", "--block", std::to_string(genes["threads"].get<int>()), "--arg",
                  "a=float[32]:iota", "--arg", "b=float[32]:iota", "--arg", "c=float[32]:unset", "--arg", "int:32"});
  CHECK(ran["ok"] == true);
  CHECK(ran["buffers"][2]["name"] == "c");
  CHECK(ran["buffers"][2]["sum"] == 992);
}

TEST_CASE("an export that cannot be written leaves no partial file") {
  const ToyBench bench;
  run_exported_toy(bench);
  const std::vector<std::string> before = bench.files();
  check_refused(bench.evo({"export", "-o", "absent/best.cu"}), 3, {"absent/best.cu", "No such file"});
  check_refused(bench.evo({"export", "-o", "templates"}), 3, {"templates", "it is a folder"});
  check_refused(bench.evo({"export", "-o", "/dev/full"}), 3, {"/dev/full", "No space left"});
  check_refused(bench.evo({"export", "-o", "/proc/best.cu"}), 3, {"/proc/best.cu"});
  CHECK(bench.files() == before);
}

TEST_CASE("an export through a link replaces the link's target") {
  const ToyBench bench;
  run_exported_toy(bench);
  bench.write("kernels/best.cu", "old");
  std::filesystem::create_symlink("kernels/best.cu", bench / "link.cu");
  REQUIRE(bench.evo({"export", "-o", "link.cu"}).code == 0);
  CHECK(std::filesystem::is_symlink(bench / "link.cu"));
  CHECK(holds(bench.read("kernels/best.cu"), "evo_toy("));
}

TEST_CASE("the best of the newest run is exported, and the best of other objectives are named") {
  const ToyBench bench;
  run_exported_toy(bench);
  run_exported_toy(bench, {"--shapes", "large"});
  const Outcome newest = bench.evo({"export"});
  CHECK(newest.code == 0);
  CHECK(holds(newest.err, "not exported: candidate "));
  CHECK(holds(newest.err, "latency middle"));
  const Outcome chosen = bench.evo({"export", "--objective", "latency middle mode=exact"});
  CHECK(chosen.code == 0);
  CHECK(chosen.err.empty());
  CHECK(chosen.out != newest.out);
}

TEST_CASE("a candidate that is not valid is neither exported nor verified") {
  const Bench bench;
  write_toy_task(bench, true);
  run_exported_toy(bench, {"--strategy", "random"});
  std::string wrong;
  const nlohmann::json outcomes = bench.json({"runs", "1"})["runs"][0]["outcomes"];
  for (const auto& outcome : outcomes) {
    if (outcome["verdict"] == "wrong_answer") wrong = std::to_string(outcome["candidate"].get<int>());
  }
  REQUIRE_FALSE(wrong.empty());
  check_refused(bench.evo({"export", wrong}), 2, {"candidate " + wrong + " is not valid", "wrong_answer"});
  check_refused(bench.evo({"verify", wrong}), 2, {"no valid latency to verify", "wrong_answer"});
}

TEST_CASE("a stored claim reproduces exactly on the virtual GPU", "[long]") {
  const ToyBench bench;
  run_exported_toy(bench);
  const Outcome outcome = bench.evo({"verify", best_of(bench)});
  CHECK(outcome.code == 0);
  for (const char* part : {"claimed", "found", "middle warm, us", "reproduced: correct, and its latency is the same"}) {
    CHECK(holds(outcome.out, part));
  }
  const nlohmann::json json = bench.json({"verify", best_of(bench)});
  CHECK(json["reproduced"] == true);
  CHECK(json["tolerance"] == 0);
  CHECK(json["claim"]["latency_us"] == json["found"]["latency_us"]);
  // The seeds are fresh each time.
  CHECK(json["found"]["salt"] != bench.json({"verify", best_of(bench)})["found"]["salt"]);
}

TEST_CASE("an exported file is verified without database and templates") {
  const Bench bench, other_folder;
  write_toy_task(bench);
  run_exported_toy(bench);
  other_folder.write("best.cu", bench.evo({"export"}).out);
  const Outcome outcome = other_folder.evo({"verify", "best.cu"});
  CHECK(outcome.code == 0);
  CHECK(holds(outcome.out, "best.cu: toy on vgpu:h200 (modelled)"));
  CHECK(other_folder.files() == std::vector<std::string>{"best.cu"});
}

TEST_CASE("evo verify detects a kernel that was spoiled after its export") {
  const ToyBench bench;
  run_exported_toy(bench);
  const std::string text = bench.evo({"export"}).out;
  CHECK(holds(verify_spoiled(bench, text, text.find("Host side")), "edited after the export"));
}

TEST_CASE("evo verify detects a claimed latency that was lowered after the export") {
  const ToyBench bench;
  run_exported_toy(bench);
  std::string text = bench.evo({"export"}).out;
  const std::string key = "\"latency_us\":";
  const std::size_t at = text.find(key);
  REQUIRE(at != std::string::npos);
  text.insert(at + key.size() + (text[at + key.size()] == ' ' ? 1 : 0), "0.1e-3, \"was\": ");
  bench.write("embellished.cu", text);
  const Outcome outcome = bench.evo({"verify", "embellished.cu"});
  CHECK((outcome.code == 1 || outcome.code == 2));
  CHECK_FALSE(holds(outcome.out, "reproduced: correct, and its latency is the same"));
}

TEST_CASE("evo verify refuses a file that is neither a candidate nor exported") {
  const Bench bench;
  bench.write("plain.cu", "__global__ void kernel() {}\n");
  check_refused(bench.evo({"verify", "plain.cu"}), 2, {"plain.cu"});
  check_refused(bench.evo({"verify", "absent.cu"}), 2, {"'absent.cu' is neither a candidate's number nor a file"});
  check_refused(bench.evo({"verify", "."}), 2, {"'.' is neither"});
}

TEST_CASE("kernels are exported as a folder that pip installs") {
  const ToyBench bench;
  run_exported_toy(bench);
  const std::string id = best_of(bench);
  const Outcome done = bench.evo({"export", id, "--format", "torch", "-o", "package"});
  CHECK(done.code == 0);
  CHECK(holds(done.out, "package: a package for torch of toy on"));
  CHECK(holds(done.out, "in that folder:  pip install"));
  CHECK(holds(bench.read("package/setup.py"), "kernels/evo_toy.cu"));
  CHECK(holds(bench.read("package/kernels/evo_toy.cu"), "cudaError_t evo_toy("));
  // The task has no reference in torch: other sizes are refused.
  CHECK(holds(bench.read("package/torch-ext/evo_toy/__init__.py"), "no kernel for"));
  CHECK(bench.evo({"export", "--dispatch", "--format", "torch", "--name", "toys", "-o", "toys"}).code == 0);
  CHECK(holds(bench.read("toys/pyproject.toml"), "name = \"toys\""));

  const auto refused = [&](std::vector<std::string> arguments, const char* why) {
    arguments.insert(arguments.begin(), "export");
    check_refused(bench.evo(arguments), 2, {why});
  };
  refused({"--format", "torch"}, "name it with -o DIR");
  refused({"--format", "torch", "-o", "package"}, "not empty: name a new folder");
  refused({"--format", "torch", "--name", "2nd", "-o", "other"}, "'2nd' cannot be the package's name");
  refused({"--format", "torch", "--run", "1", "-o", "other"}, "name candidates");
  refused({"--format", "kernelbench", "-o", "other"}, "no reference.py");
  refused({id, id}, "--format torch");
}
