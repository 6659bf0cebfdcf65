#include "bench.h"

using namespace evo::testing;

TEST_CASE("evo tasks lists families, options and shapes") {
  const ToyBench bench;
  const Outcome outcome = bench.evo({"tasks"});
  CHECK(outcome.code == 0);
  for (const char* part : {"toy  c = a + b", "plain", "mode=exact|loose", "middle (700)"}) {
    CHECK(outcome.out.find(part) != std::string::npos);
  }
  const nlohmann::json json = bench.json({"tasks"});
  CHECK(json["command"] == "tasks");
  REQUIRE(json["tasks"].size() == 1);
  CHECK(json["tasks"][0]["name"] == "toy");
  CHECK(json["tasks"][0]["options"]["mode"] == nlohmann::json({"exact", "loose"}));
  CHECK(json["tasks"][0]["shapes"][1]["sizes"]["N"] == 700);
  CHECK(json["tasks"][0]["families"][0]["genes"] == 5);
}

TEST_CASE("evo space counts the legal genomes and shows every gene") {
  const ToyBench bench;
  const Outcome outcome = bench.evo({"space", "--task", "toy", "--device", "vgpu"});
  CHECK(outcome.code == 0);
  for (const char* part : {"26 legal genomes", "threads", "32 64 128 256", "items > 1"}) {
    INFO(part);
    CHECK(outcome.out.find(part) != std::string::npos);
  }
  const nlohmann::json json = bench.json({"space", "--task", "toy", "--device", "vgpu"});
  CHECK(json["legal"] == 26);
  CHECK(json["families"][0]["left_out"] == nullptr);
  CHECK(json["families"][0]["genes"][0]["alleles"] == nlohmann::json({32, 64, 128, 256}));
}

TEST_CASE("evo space has the constraints of the objective and the shapes") {
  const ToyBench bench;
  const std::string constraints = R"("constraints": [)";
  bench.change("templates/toy/plain/family.json", constraints,
               constraints + R"({"that": "items == 1", "objectives": ["accurate"], )" +
                   R"("shapes": "N > 600", "why": "sums err"},)");
  const auto space = [&](const std::string& objective, const std::string& shape) {
    return bench.json({"space", "--task", "toy", "--device", "vgpu", "--objective", objective, "--shapes", shape});
  };
  CHECK(space("latency", "N=700")["legal"] == 26);
  const nlohmann::json accurate = space("accurate", "N=700");
  CHECK(accurate["legal"] == 12);
  CHECK(accurate["families"][0]["constraints"][0] == nlohmann::json({{"that", "items == 1"}, {"why", "sums err"}}));

  const Outcome outcome =
      bench.evo({"space", "--task", "toy", "--device", "vgpu", "--objective", "accurate", "--shapes", "N=700"});
  CHECK(outcome.out.find("objective accurate") != std::string::npos);
  CHECK(outcome.out.find("sums err") != std::string::npos);
}

TEST_CASE("evo space says why a family is left out") {
  const ToyBench bench;
  std::string family = bench.read("templates/toy/plain/family.json");
  family.replace(family.find("sm >= 80"), 8, "sm >= 99");
  bench.write("templates/toy/future/family.json", family);
  bench.write("templates/toy/future/kernel.cu", bench.read("templates/toy/plain/kernel.cu"));
  const Outcome outcome = bench.evo({"space", "--task", "toy", "--device", "vgpu"});
  CHECK(outcome.out.find("future  left out: needs sm >= 99") != std::string::npos);
  CHECK(outcome.out.find("26 legal genomes") != std::string::npos);
}

TEST_CASE("a family without genes that says nothing of itself has a sentence in the place of their table") {
  const ToyBench bench;
  bench.write("templates/toy/plain/family.json",
              R"({"genes": [], "launches": [{"kernel": "toy", "grid": ["1", "1", "1"], "block": ["32", "1", "1"],
                  "arguments": ["a", "b", "c", "N"]}]})");
  const Outcome outcome = bench.evo({"space", "--task", "toy", "--device", "vgpu"});
  CHECK(outcome.code == 0);
  CHECK(
      outcome.out.ends_with("\nplain\n  1 legal genomes of 1 in the product of all alleles\n"
                            "  no genes: there is one way to compile it\n"));
}

TEST_CASE("a malformed task is listed with its problem, and the others as usual") {
  const ToyBench bench;
  bench.write("templates/broken/task.json", "{ \"summary\": ");
  const Outcome outcome = bench.evo({"tasks"});
  CHECK(outcome.code == 2);
  CHECK(outcome.out.find("broken/task.json") != std::string::npos);
  CHECK(outcome.out.find("c = a + b") != std::string::npos);
  check_refused(bench.evo({"run", "--task", "broken"}), 2, {"broken/task.json"});
}

TEST_CASE("an unknown key of a task is refused with file and key") {
  const ToyBench bench;
  bench.change("templates/toy/task.json", "\"seeds\"", "\"sedes\"");
  check_refused(bench.evo({"run", "--task", "toy"}), 2, {"toy/task.json", "sedes"});
}

TEST_CASE("a malformed family is refused with file and reason") {
  const ToyBench bench;
  bench.change("templates/toy/plain/family.json", "tile <= 512", "tyle <= 512");
  check_refused(bench.evo({"space", "--task", "toy", "--device", "vgpu"}), 2, {"toy/plain/family.json", "tyle"});
}

TEST_CASE("a malformed kernel template is refused with file and line before anything is written") {
  const ToyBench bench;
  bench.write("templates/toy/plain/kernel.cu", "// one\n//% iff items\n");
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--quiet"}), 2,
                {"toy/plain/kernel.cu:2", "iff"});
  CHECK(bench.files().size() == 4);
}

TEST_CASE("a folder without templates is refused, and the message says what was looked for") {
  const Bench bench;
  bench.write("empty/readme.txt", "nothing here");
  check_refused(bench.evo({"tasks", "--templates", "empty"}), 2, {"--templates", "no task in 'empty'", "task.json"});
  check_refused(bench.evo({"tasks", "--templates", "absent"}), 2, {"'absent' is no folder"});
  check_refused(bench.evo({"tasks"}, {.environment = {{"EVO_TEMPLATES", "empty"}}}), 2, {"EVO_TEMPLATES", "'empty'"});
}

TEST_CASE("templates are found by option, environment and place, in this order") {
  const ToyBench bench;
  for (const char* name : {"by_option", "by_environment"}) {
    std::filesystem::create_directories(bench / name / name);
    bench.write(std::string(name) + "/" + name + "/task.json", bench.read("templates/toy/task.json"));
    bench.write(std::string(name) + "/" + name + "/reference.cu", bench.read("templates/toy/reference.cu"));
  }
  const ProcessOptions with_variable{.environment = {{"EVO_TEMPLATES", "by_environment"}}};
  CHECK(bench.evo({"tasks", "--templates", "by_option"}, with_variable).out.find("in by_option") != std::string::npos);
  CHECK(bench.evo({"tasks"}, with_variable).out.find("in by_environment") != std::string::npos);
  CHECK(bench.evo({"tasks"}).out.find("in templates") != std::string::npos);
}

TEST_CASE("a link that leaves the templates folder is refused") {
  const ToyBench bench;
  bench.write("secret.cu", "private");
  std::filesystem::create_symlink(bench / "secret.cu", bench / "templates" / "toy" / "plain" / "stolen.cu");
  check_refused(bench.evo({"tasks"}), 2, {"stolen.cu", "leaves the templates folder"});
}

TEST_CASE("a template above the size limit is refused") {
  const ToyBench bench;
  bench.write("templates/toy/plain/huge.cu", std::string((1 << 20) + 1, ' '));
  check_refused(bench.evo({"tasks"}), 2, {"huge.cu", "1048577 bytes"});
}

TEST_CASE("hidden files and files of other kinds are not read as templates") {
  const ToyBench bench;
  const std::string hash = bench.json({"tasks"})["tasks"][0]["hash"];
  bench.write("templates/toy/.notes/old.cu", "//% nonsense");
  bench.write("templates/toy/plain/.#kernel.cu", "//% nonsense");
  bench.write("templates/toy/plain/kernel.cu~", "//% nonsense");
  bench.write("templates/toy/README.md", "words");
  CHECK(bench.json({"tasks"})["tasks"][0]["hash"] == hash);
}
