#include <algorithm>
#include <set>

#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

namespace {

Binary compile(const Program& program, const std::string& arch) {
  auto result = nvrtc_or_skip().compile(program.source, arch, program.max_registers);
  if (const auto* failure = std::get_if<Failure>(&result)) FAIL(failure->reason);
  Binary binary = std::get<Binary>(std::move(result));
  CHECK(!binary.cubin.empty());
  CHECK(!binary.ptx.empty());
  return binary;
}

}  // namespace

TEST_CASE("random genomes compile for sm_89 and sm_90a, and few spill registers", "[long]") {
  int programs = 0;
  int spilling = 0;
  for (const char* task : {"fp8_sdpa", "fp8_qkt", "f16_sdpa", "sim_fp8_qkt", "sim_fp8_sdpa"}) {
    for (const Gpu& gpu : {l4(), h200()}) {
      for (const char* shape : {"mission", "d128"}) {
        const Aimed aimed(task, gpu, {shape});
        const Space space = aimed.space();
        for (const Genome& genome : aimed.sample(space, 3, 11)) {
          INFO(gpu.arch << " " << shape << " " << to_text(genome));
          const Candidate candidate = aimed.candidate(space, genome);
          const Binary binary = compile(candidate.programs.front(), gpu.arch);
          ++programs;
          spilling += binary.build.largest().spill_bytes > 0 ? 1 : 0;
        }
      }
    }
  }
  INFO(spilling << " of " << programs << " spill");
  CHECK(spilling * 4 <= programs);
}

TEST_CASE("random genomes of every option and of head dimension 256 compile, and few spill registers", "[long]") {
  const auto value = [](const char* text) { return Value(std::string(text)); };
  int programs = 0;
  int spilling = 0;
  for (const auto& [gpu, shape, options] : {
           std::tuple{l4(), "mission", Bindings{{"mask", value("causal")}}},
           std::tuple{h200(), "d128", Bindings{{"v_layout", value("transposed")}, {"scales", value("tensor")}}},
           std::tuple{l4(), "d256", Bindings{{"v_layout", value("transposed")}}},
           std::tuple{h200(), "d256", Bindings{{"mask", value("causal")}, {"out", value("bf16")}}},
       }) {
    const Aimed aimed("fp8_sdpa", gpu, {shape}, options);
    const Space space = aimed.space();
    for (const Genome& genome : aimed.sample(space, 2, 31)) {
      INFO(gpu.arch << " " << shape << " " << to_text(genome));
      const Binary binary = compile(aimed.candidate(space, genome).programs.front(), gpu.arch);
      ++programs;
      spilling += binary.build.largest().spill_bytes > 0 ? 1 : 0;
    }
  }
  INFO(spilling << " of " << programs << " spill");
  CHECK(spilling * 4 <= programs);
}

TEST_CASE("every exponential, rescale strategy and epilogue compiles") {
  for (const auto& [task, slots] : {std::pair{"fp8_sdpa", std::vector<std::string>{"exponential", "rescale"}},
                                    std::pair{"fp8_qkt", std::vector<std::string>{"epilogue"}}}) {
    const Aimed aimed(task, l4(), {"mission"});
    const Space space = aimed.space();
    for (const std::string& slot : slots) {
      for (const Value& allele : space.family("mma_sync").gene(slot)->alleles) {
        Rng rng(2);
        Genome genome = space.sample(rng, "mma_sync");
        while (genome.genes.at(slot) != allele) genome = space.sample(rng, "mma_sync");
        INFO(to_text(genome));
        compile(aimed.candidate(space, genome).programs.front(), "sm_89");
      }
    }
  }
}

TEST_CASE("references compile for every specialisation and option", "[sweep]") {
  for (const std::string& task : task_names(shipped_templates())) {
    const Task loaded = load_task(shipped_templates(), task);
    std::set<Bindings> specialisations;
    for (const Shape& shape : loaded.shapes) {
      Bindings values;
      for (const std::string& name : loaded.specialised) values[name] = shape.parameters.at(name);
      specialisations.insert(values);
    }
    for (const Bindings& specialisation : specialisations) {
      for (const Option& option : loaded.options) {
        for (const Value& value : option.values) {
          Bindings options = loaded.default_options();
          if (options[option.name] == value && specialisation != *specialisations.begin()) continue;
          options[option.name] = value;
          compile(reference_program(shipped_templates(), loaded, options, specialisation, {}), "sm_89");
        }
      }
    }
  }
}
