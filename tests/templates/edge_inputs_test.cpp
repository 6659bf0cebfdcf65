// Inputs at the limits of fp8_sdpa: tiny and zero scales, tiles that are masked for a row, arbitrary padding, heads of
// more than 2^31 codes.
#include <cstring>
#include <functional>
#include <tuple>

#include "tests/templates/oracle.h"
#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

namespace {

using Wanted = std::function<bool(const Genome&)>;

bool has(const Genome& genome, const char* gene, const Value& allele) {
  const auto found = genome.genes.find(gene);
  return found != genome.genes.end() && found->second == allele;
}
bool has(const Genome& genome, const char* gene, const char* allele) {
  return has(genome, gene, Value(std::string(allele)));
}
bool has(const Genome& genome, const char* gene, int allele) {
  return has(genome, gene, Value(std::int64_t{allele}));
}

std::vector<Genome> sample(const Space& space, const char* family, int count, const Wanted& wanted) {
  Rng rng(41);
  std::vector<Genome> genomes;
  while (static_cast<int>(genomes.size()) < count) {
    Genome genome = space.sample(rng, family);
    if (wanted(genome)) genomes.push_back(std::move(genome));
  }
  return genomes;
}

bool any(const Genome&) {
  return true;
}

/// True when the multi-function unit computes packed weights from offset, scale and score in f16.
bool f16_powers(const Genome& genome) {
  return has(genome, "exponential", "ex2_f16x2") || has(genome, "exponential", "unrounded") ||
         (has(genome, "score_type", "f16") && has(genome, "mixed_with", "ex2"));
}

/// Runs genomes of a family on the virtual H200 and compares them with the independent implementation.
void check(const Aimed& aimed, const char* family, const Operands& operands, int count, const Wanted& wanted = any) {
  const Shape& shape = aimed.target().timed.front();
  const std::vector<double> want = expected(aimed, operands, shape);
  const Space space = aimed.space();
  for (const Genome& genome : sample(space, family, count, wanted)) {
    INFO(shape.name << " " << to_text(genome));
    const Candidate candidate = aimed.candidate(space, genome);
    const Program& program = candidate.programs.front();
    const Plan& plan = program.plans.at(shape.name);
    const Bytes output = Loaded("h200", program).run(plan, operands);
    CHECK(relative_l2(values_of(output, plan.tensors.back().dtype), want) < aimed.task().limits.relative_l2);
  }
}

Operands draw(const Aimed& aimed, const Regime& regime) {
  return draw(aimed, aimed.target().timed.front(), regime, 2);
}

Regime normal() {
  return {.name = "normal", .distribution = Distribution::normal, .tensors = {}};
}

Regime small_scores(double gain) {
  return {.name = "small", .distribution = Distribution::normal, .gain = gain, .tensors = {"q", "k"}};
}

const Bindings kCausal = {{"mask", std::string("causal")}};

}  // namespace

TEST_CASE("tiny scores give all visible keys the same weight, in every arithmetic of the kernel", "[long]") {
  for (const auto& [shape, options, gain] : {
           std::tuple{"1,2,77,64", Bindings{}, 1e-3},
           std::tuple{"1,2,77,64", kCausal, 1e-17},  // the product of two scales is no f32 value
           std::tuple{"1,1,77,128", kCausal, 1e-3},
           std::tuple{"1,1,77,256", Bindings{}, 1e-3},
       }) {
    const Aimed aimed("fp8_sdpa", hopper(), {shape}, options);
    const Operands operands = draw(aimed, small_scores(gain));
    check(aimed, "wgmma", operands, 2, f16_powers);
    for (const char* family : {"wgmma", "mma_sync"}) check(aimed, family, operands, 1);
  }
}

TEST_CASE("a scale of zero gives all visible keys the same weight", "[long]") {
  for (const auto& [zeroed, options] : {std::tuple{"q_scale", Bindings{}}, std::tuple{"k_scale", kCausal}}) {
    const Aimed aimed("fp8_sdpa", hopper(), {"1,2,77,64"}, options);
    Operands operands = draw(aimed, normal());
    std::memset(operands.of(zeroed).data(), 0, sizeof(float));  // of the first head
    check(aimed, "wgmma", operands, 2, f16_powers);
    for (const char* family : {"wgmma", "mma_sync"}) check(aimed, family, operands, 2);
  }
}

TEST_CASE("a row's weights are right where the first tile of keys is masked", "[long]") {
  const Aimed aimed("fp8_sdpa", hopper(), {"1,1,130,64"}, kCausal);
  const Operands operands = draw(aimed, normal());
  // The first tile is masked for rows 0 to 63.
  const auto blind = [](const Genome& genome) {
    return has(genome, "rescale", "threshold") && has(genome, "kv_order", "backward") && has(genome, "tile_k", 64) &&
           !has(genome, "warpgroups_q", 1);
  };
  check(aimed, "wgmma", operands, 4, [&](const Genome& genome) { return blind(genome) && f16_powers(genome); });
  check(aimed, "wgmma", operands, 2, blind);
  // All keys of a group or of a CTA may be masked.
  const auto shared_out = [](const Genome& genome) {
    return !has(genome, "warpgroups_k", 1) || !has(genome, "kv_split", 1);
  };
  check(aimed, "wgmma", operands, 4, [&](const Genome& genome) { return shared_out(genome) && f16_powers(genome); });
}

TEST_CASE("the padding of transposed values may hold anything", "[long]") {
  for (const char* shape : {"1,2,77,64", "1,1,7,128"}) {
    for (Bindings options : {Bindings{}, kCausal}) {
      options["v_layout"] = std::string("transposed");
      const Aimed aimed("fp8_sdpa", hopper(), {shape}, options);
      const auto S = std::get<std::int64_t>(aimed.target().timed.front().parameters.at("S"));
      const std::int64_t row = (S + 15) / 16 * 16;
      Operands operands = draw(aimed, normal());
      Bytes& v = operands.of("v");
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(v.size()); ++i) {
        if (i % row >= S) v[i] = i % 2 == 0 ? std::byte{0x7f} : std::byte{0xff};  // NaN
      }
      check(aimed, "wgmma", operands, 2);
      for (const char* copy : {"plain", "cp_async", "direct"}) {
        check(aimed, "mma_sync", operands, 2, [&](const Genome& genome) { return has(genome, "copy", copy); });
      }
    }
  }
}

TEST_CASE("queries are read at the right address in heads of more than 2^31 codes") {
  const Aimed aimed("fp8_sdpa", hopper(), {"1,1,64,64"});
  const Space space = aimed.space();
  const Genome genome = sample(space, "wgmma", 1, [](const Genome& one) {
                          return has(one, "q_operand", "global") && has(one, "score_type", "f32");
                        }).front();
  Program program = aimed.candidate(space, genome).programs.front();
  // Only the last 16 rows of a head are stored.
  program.source += R"(
extern "C" __global__ void last_queries(const e4m3* last_rows, u32* operands, int S) {
  e4m3x4 query[head_dim / 8];
  load_query(query, last_rows - (long long)(S - 16) * head_dim, Problem{S, 1}, Work{}, S - 16, 0, threadIdx.x);
  for (int i = 0; i < head_dim / 8; ++i) operands[threadIdx.x * (head_dim / 8) + i] = query[i];
}
)";
  constexpr std::size_t kBytes = 16 * 64;
  Plan plan;
  plan.tensors = {{.name = "last_rows", .dtype = DType::e4m3, .bytes = kBytes, .output = false},
                  {.name = "operands", .dtype = DType::s32, .bytes = kBytes, .output = true}};
  const auto tensor = [](std::size_t index) { return Argument{Argument::Kind::tensor, index}; };
  plan.launches = {{.kernel = "last_queries",
                    .block = {32, 1, 1},
                    .arguments = {tensor(0), tensor(1), Argument::of_int((1 << 25) + 64)}}};
  Bytes codes(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) codes[i] = static_cast<std::byte>(i * 37 / 16);
  const Bytes got = Loaded("h200", program).run(plan, {{codes}, aimed.task()});
  for (std::size_t i = 0; i < kBytes; ++i) {
    const std::size_t lane = i / 32, reg = i / 4 % 8;
    const std::size_t row = lane / 4 + reg % 2 * 8, column = reg / 2 * 16 + lane % 4 * 4 + i % 4;
    REQUIRE(got[i] == codes[row * 64 + column]);
  }
}
