#include "tests/templates/oracle.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

namespace {

void check_reference(const Aimed& aimed, const char* shape_name) {
  const Shape& shape = aimed.task().shape(shape_name);
  const Bindings specialisation{{"D", shape.parameters.at("D")}};
  const Program program =
      reference_program(shipped_templates(), aimed.task(), aimed.target().options, specialisation, {shape});
  Loaded reference("l4", program);
  for (const Regime& regime : aimed.task().regimes) {
    const Operands operands = draw(aimed, shape, regime, 1);
    const Bytes output = reference.run(program.plans.at(shape_name), operands);
    INFO(aimed.task().name << " " << shape_name << " " << regime.name);
    CHECK(relative_l2(values_of(output, DType::f32), expected(aimed, operands, shape)) < 1e-6);
  }
}

void check_genomes(const Aimed& aimed, const char* model, const std::string& shape_name,
                   const std::vector<Genome>& genomes) {
  const Space space = aimed.space();
  const Shape& shape = aimed.task().shape(shape_name);
  const Operands operands = draw(aimed, shape, aimed.task().regimes.front(), 2);
  const std::vector<double> want = expected(aimed, operands, shape);
  for (const Genome& genome : genomes) {
    const Candidate candidate = aimed.candidate(space, genome);
    const Program& program = candidate.programs.front();
    INFO(model << " " << shape_name << " " << to_text(genome));
    const Plan& plan = program.plans.at(shape_name);
    const Bytes output = Loaded(model, program).run(plan, operands);
    const DType dtype = std::ranges::find_if(plan.tensors, &PlanTensor::output)->dtype;
    CHECK(relative_l2(values_of(output, dtype), want) < aimed.task().limits.relative_l2);
  }
}

void check_genomes(const Aimed& aimed, const char* model, const std::string& shape_name, int count,
                   std::uint64_t seed) {
  check_genomes(aimed, model, shape_name, aimed.sample(aimed.space(), count, seed));
}

/// Draws 20,000 genomes of a family and keeps those that bring three alleles of these genes together for the first
/// time.
std::vector<Genome> covering(const Space& space, const char* family, const std::vector<std::string>& genes) {
  Rng rng(53);
  std::set<std::string> covered;
  std::vector<Genome> genomes;
  for (int draw = 0; draw < 20'000; ++draw) {
    Genome genome = space.sample(rng, family);
    const auto allele = [&](std::size_t gene) {
      const auto found = genome.genes.find(genes[gene]);
      return genes[gene] + (found == genome.genes.end() ? "" : "=" + expr::to_string(found->second)) + " ";
    };
    bool adds = false;
    for (std::size_t a = 0; a < genes.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        for (std::size_t c = 0; c < b; ++c) adds |= covered.insert(allele(a) + allele(b) + allele(c)).second;
      }
    }
    if (adds) genomes.push_back(std::move(genome));
  }
  return genomes;
}

}  // namespace

TEST_CASE("the references agree with an independent double-precision implementation", "[long]") {
  for (const char* shape : {"one", "tail77", "one_d128", "tail77_d128"}) {
    const Aimed aimed("fp8_sdpa", l4(), {shape});
    check_reference(aimed, shape);
  }
  for (const auto& [option, value, shape] : {
           std::tuple{"mask", "causal", "tail77"},
           std::tuple{"v_layout", "transposed", "tail77"},
           std::tuple{"scales", "tensor", "tail129"},
       }) {
    const Aimed aimed("fp8_sdpa", l4(), {shape}, {{option, std::string(value)}});
    check_reference(aimed, shape);
  }
  const Bindings all = {
      {"mask", std::string("causal")}, {"v_layout", std::string("transposed")}, {"scales", std::string("tensor")}};
  for (const char* shape : {"one_d128", "tail77_d256"}) check_reference(Aimed("fp8_sdpa", l4(), {shape}, all), shape);
  for (const bool scaled : {false, true}) {
    for (const char* shape : {"founding", "wide", "tall", "wide_d128"}) {
      const Aimed aimed("fp8_qkt", l4(), {shape}, {{"scaled", scaled}});
      check_reference(aimed, shape);
    }
  }
  check_reference(Aimed("fp8_qkt", l4(), {"wide"}, {{"scales", std::string("tensor")}}), "wide");
}

namespace {

/// Options of fp8_attention that engines combine, and a shape for each.
const std::vector<std::pair<const char*, Bindings>> kEngineCalls = {
    {"gqa", {{"layout", std::string("bshd")}}},
    {"no_keys", {{"causal", true}, {"layout", std::string("fused")}}},
    {"step", {{"causal", true}, {"window", std::int64_t{32}}, {"softmax_scale", 0.02}}},
    {"gqa", {{"cu_seqlens", true}, {"causal", true}, {"layout", std::string("bshd")}}},
    {"step_d128", {{"page", std::int64_t{16}}}},
    {"gqa", {{"page", std::int64_t{64}}, {"cu_seqlens", true}, {"causal", true}, {"layout", std::string("bshd")}}},
};

}  // namespace

TEST_CASE("the reference of attention as engines call it agrees with an independent implementation", "[long]") {
  for (const auto& [shape, options] : kEngineCalls)
    check_reference(Aimed("fp8_attention", hopper(), {shape}, options), shape);
}

TEST_CASE("calls that no engine can mean are refused") {
  const Task task = load_task(shipped_templates(), "fp8_attention");
  const auto is_refused = [&](const char* shape, const Bindings& chosen) {
    Bindings options = task.default_options();
    for (const auto& [name, value] : chosen) options[name] = value;
    return !is_legal(task, options, parse_shape(task, shape));
  };
  CHECK_FALSE(is_refused("2,6,2,5,70,64", {}));
  CHECK(is_refused("2,6,4,5,70,64", {}));  // heads that are no multiple
  CHECK(is_refused("4096,32,8,1,70,64", {}));
  CHECK(is_refused("2,6,2,5,70,64", {{"window", std::int64_t{32}}}));
  CHECK(is_refused("2,6,2,5,70,64", {{"cu_seqlens", true}}));  // of layout bhsd
  CHECK(is_refused("2,6,2,5,70,64", {{"page", std::int64_t{16}}, {"layout", std::string("fused")}}));
}

TEST_CASE("a random genome of each legal combination of engines' options is right", "[sweep]") {
  const Task task = load_task(shipped_templates(), "fp8_attention");
  int combinations = 0;
  for (const char* layout : {"bhsd", "bshd", "fused"}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t window : {0, 32}) {
        for (const bool log_sum_exp : {false, true}) {
          for (const bool cu_seqlens : {false, true}) {
            for (const std::int64_t page : {0, 16, 256}) {
              const Bindings options = {{"layout", std::string(layout)}, {"causal", causal},         {"window", window},
                                        {"log_sum_exp", log_sum_exp},    {"cu_seqlens", cu_seqlens}, {"page", page},
                                        {"softmax_scale", 0.0}};
              if (!is_legal(task, options, task.shape("step"))) continue;
              INFO(layout << " causal=" << causal << " window=" << window << " lse=" << log_sum_exp
                          << " cu_seqlens=" << cu_seqlens << " page=" << page);
              check_genomes(Aimed("fp8_attention", hopper(), {"step"}, options), "h200", "step", 1, 41 + combinations);
              ++combinations;
            }
          }
        }
      }
    }
  }
  CHECK(combinations == 66);
}

TEST_CASE("random genomes of attention as engines call it agree with an independent implementation", "[long]") {
  for (const auto& [shape, options] : kEngineCalls)
    check_genomes(Aimed("fp8_attention", hopper(), {shape}, options), "h200", shape, 2, 37);
}

TEST_CASE("random genomes agree with an independent double-precision implementation", "[long]") {
  for (const auto& [task, gpu, model, shapes] : {
           std::tuple{"fp8_sdpa", l4(), "l4", std::vector<std::string>{"one", "tail77_d128"}},
           std::tuple{"fp8_sdpa", h200(), "h200", std::vector<std::string>{"tail77", "one_d128"}},
           std::tuple{"fp8_qkt", l4(), "l4", std::vector<std::string>{"founding", "wide_d128"}},
           std::tuple{"fp8_qkt", h200(), "h200", std::vector<std::string>{"wide", "tall"}},
       }) {
    for (const std::string& name : shapes) check_genomes(Aimed(task, gpu, {name}), model, name, 3, 23);
  }
}

TEST_CASE("random genomes of every option and head dimension agree with an independent implementation", "[long]") {
  const Bindings causal = {{"mask", std::string("causal")}};
  const Bindings transposed = {{"v_layout", std::string("transposed")}};
  const Bindings all = {
      {"mask", std::string("causal")}, {"v_layout", std::string("transposed")}, {"scales", std::string("tensor")}};
  for (const auto& [gpu, model, shape, options, count] : {
           std::tuple{l4(), "l4", "tail129", causal, 2},
           std::tuple{h200(), "h200", "tail77", transposed, 3},
           std::tuple{l4(), "l4", "tail77_d128", all, 2},
           std::tuple{h200(), "h200", "tail77_d256", Bindings{}, 1},
           std::tuple{l4(), "l4", "one_d256", all, 1},
       }) {
    check_genomes(Aimed("fp8_sdpa", gpu, {shape}, options), model, shape, count, 29);
  }
}

TEST_CASE("every three alleles of the arithmetic of weights are right together", "[sweep]") {
  const Aimed aimed("fp8_sdpa", hopper(), {"tail129"}, {{"mask", std::string("causal")}});
  check_genomes(aimed, "h200", "tail129",
                covering(aimed.space(), "wgmma",
                         {"score_type", "exponential", "fma_weight", "code_by", "narrow_scores", "large_scores",
                          "row_sum", "rescale"}));
}
