#include <map>
#include <set>
#include <tuple>

#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

TEST_CASE("random genomes of every task render to kernels without directives or includes of templates", "[long]") {
  for (const std::string& task : task_names(shipped_templates())) {
    for (const Gpu& gpu : {l4(), h200(), hopper()}) {
      if (task == "fp8_attention" && gpu.facts.at("wgmma") == Value{false}) continue;
      std::vector<std::string> shapes = load_task(shipped_templates(), task).shape_sets.at("vgpu").timed;
      if (task == "fp8_sdpa" || task == "fp8_qkt") shapes = {"mission", "d128"};
      const Aimed aimed(task, gpu, shapes);
      const Space space = aimed.space();
      for (const Genome& genome : aimed.sample(space, 200, 3)) {
        const Candidate candidate = aimed.candidate(space, genome);
        REQUIRE(candidate.programs.size() == shapes.size());
        for (const Program& program : candidate.programs) {
          INFO(to_text(genome));
          CHECK(program.source.find("//%") == std::string::npos);
          CHECK(program.source.find("${") == std::string::npos);
          CHECK(program.source.find("#include \"") == std::string::npos);  // Those of the toolkit stay.
          CHECK(program.source.find("extern \"C\" __global__") != std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("different genomes render to different programs") {
  for (const char* task : {"fp8_sdpa", "fp8_qkt", "f16_sdpa", "sim_fp8_qkt", "sim_fp8_sdpa"}) {
    const Aimed aimed(task, h200(), {"mission"});
    const Space space = aimed.space();
    std::map<std::string, std::string> genome_of;
    for (const Genome& genome : aimed.sample(space, 1000, 5)) {
      const auto [known, added] = genome_of.emplace(aimed.candidate(space, genome).source_hash(), to_text(genome));
      INFO(to_text(genome) << "\n" << known->second);
      CHECK((added || known->second == to_text(genome)));
    }
  }
}

TEST_CASE("one step in any gene changes the program", "[long]") {
  for (const auto& [task, gpu, shape] : {
           std::tuple{"fp8_sdpa", h200(), "mission"},
           std::tuple{"fp8_qkt", h200(), "mission"},
           std::tuple{"f16_sdpa", h200(), "mission"},
           std::tuple{"sim_fp8_qkt", h200(), "mission"},
           std::tuple{"sim_fp8_sdpa", h200(), "mission"},
           std::tuple{"fp8_attention", hopper(), "decode"},
       }) {
    const Aimed aimed(task, gpu, {shape});
    const Space space = aimed.space();
    for (const Genome& genome : aimed.sample(space, 20, 7)) {
      const std::string hash = aimed.candidate(space, genome).source_hash();
      for (const Genome& neighbour : space.neighbours(genome, Space::Step::any)) {
        INFO(to_text(genome) << "\n" << to_text(neighbour));
        CHECK(aimed.candidate(space, neighbour).source_hash() != hash);
      }
    }
  }
}
