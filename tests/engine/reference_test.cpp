// docs/templates.md is checked against the engine, so that its examples stay true.

#include <fstream>

#include "engine/space/space.h"
#include "engine/task/candidate.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

// The blocks fenced with ```LANGUAGE.
std::vector<std::string> fenced(const std::string& language) {
  std::ifstream file(EVO_SOURCE_DIR "/docs/templates.md");
  REQUIRE(file);
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```" + language) {
      inside = true;
      blocks.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

}  // namespace

TEST_CASE("the examples of docs/templates.md load, and render as they say") {
  const std::vector<std::string> json = fenced("json");
  const std::vector<std::string> cuda = fenced("cuda");
  REQUIRE(json.size() == 4);  // The first two are those of the tutorial.
  REQUIRE(cuda.size() == 6);
  const SourceTree tree = {{"scale/task.json", json[2]},
                           {"scale/reference.cu", ""},
                           {"scale/plain/family.json", json[3]},
                           {"scale/plain/kernel.cu", cuda[5]},
                           {"scale/plain/store/plain.cu", "// stores\n"},
                           {"include/types.cuh", "// types\n"}};
  const Task task = load_task(tree, "scale");
  const Target target = make_target(task, "cuda", {}, {});
  const Bindings facts = {{"sm", number(90)}};
  const Space space(load_families(tree, task), facts, specialisations_of(task, target));
  const Genome genome{"plain", {{"threads", number(32)}, {"vector", number(2)}, {"store", std::string("plain")}}};
  REQUIRE(!space.why_illegal(genome));
  const Candidate candidate = make_candidate(tree, task, space.family("plain"), genome, target, facts);
  CHECK(candidate.programs[0].source ==
        "// types\n"
        "extern \"C\" __global__ void scale(const e4m3* x, const float* a, unsigned short* y, float* "
        "partial, int N) {\n"
        "  const float x0 = decode(x[threadIdx.x + 0]);\n"
        "  const float x1 = decode(x[threadIdx.x + 32]);\n"
        "// stores\n"
        "}\n");
}
