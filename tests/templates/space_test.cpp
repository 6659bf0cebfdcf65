#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

TEST_CASE(
    "fp8_sdpa has at least hundreds of thousands of legal mma_sync genomes on either GPU and head "
    "dimension") {
  for (const Gpu& gpu : {l4(), h200()}) {
    for (const char* shape : {"mission", "d128"}) {
      const Space space = Aimed("fp8_sdpa", gpu, {shape}).space();
      INFO(gpu.arch << " " << shape << ": " << space.size("mma_sync"));
      CHECK(space.size("mma_sync") >= 300'000);
    }
  }
}

TEST_CASE("every option and head dimension 256 leave mma_sync tens of thousands of legal genomes") {
  for (const Gpu& gpu : {l4(), h200()}) {
    for (const auto& [shape, option, value] : {
             std::tuple{"mission", "mask", "causal"},
             std::tuple{"d128", "v_layout", "transposed"},
             std::tuple{"mission", "scales", "tensor"},
             std::tuple{"d256", "mask", "none"},
         }) {
      const Space space = Aimed("fp8_sdpa", gpu, {shape}, {{option, std::string(value)}}).space();
      INFO(gpu.arch << " " << shape << " " << option << "=" << value << ": " << space.size("mma_sync"));
      CHECK(space.size("mma_sync") >= 50'000);
    }
  }
}

TEST_CASE("fp8_qkt has at least a hundred thousand legal mma_sync genomes on either GPU") {
  for (const Gpu& gpu : {l4(), h200()}) {
    const Space space = Aimed("fp8_qkt", gpu, {"mission"}).space();
    INFO(gpu.arch << ": " << space.size("mma_sync"));
    CHECK(space.size("mma_sync") >= 100'000);
  }
}

TEST_CASE("every allele of every mma_sync gene occurs in a legal genome") {
  for (const char* task : {"fp8_sdpa", "fp8_qkt", "f16_sdpa", "sim_fp8_qkt", "sim_fp8_sdpa"}) {
    for (const Gpu& gpu : {l4(), h200()}) {
      const Aimed aimed(task, gpu, {"mission"});
      const Space space = aimed.space();
      for (const Gene& gene : space.family("mma_sync").genes) {
        if (gene.name == "pdl" && gpu.facts.at("dependent_launch") == Value{false}) continue;  // needs griddepcontrol
        if (gene.name == "load" && gpu.facts.at("tma") == Value{false}) continue;
        for (const Value& allele : gene.alleles) {
          Rng rng(1);
          const Genome genome = space.complete({"mma_sync", {{gene.name, allele}}}, rng);
          const auto found = genome.genes.find(gene.name);
          INFO(task << " " << gpu.arch << " " << gene.name << "=" << expr::to_string(allele));
          // A gene with a condition is active only with certain other genes; then sampling must find the allele.
          bool occurs = found != genome.genes.end() && found->second == allele;
          for (int i = 0; i < 3000 && !occurs; ++i) {
            const Genome other = space.sample(rng);
            const auto value = other.genes.find(gene.name);
            occurs = value != other.genes.end() && value->second == allele;
          }
          CHECK(occurs);
        }
      }
    }
  }
}
