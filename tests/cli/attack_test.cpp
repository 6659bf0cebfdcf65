#include <catch2/matchers/catch_matchers_string.hpp>

#include "bench.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

// A softmax whose maximum begins at LOWEST. Its reference computes in double precision.
constexpr const char* kKernels = R"cu(
__global__ void softmax(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  float top = LOWEST, sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) top = fmaxf(top, row[i]);
  for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
  for (int i = threadIdx.x; i < m; i += 32) sum += expf(row[i] - top);
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < m; i += 32) y[blockIdx.x * m + i] = sum > 0 ? expf(row[i] - top) / sum : 0.0f;
}
__global__ void softmax_plain(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  double top = row[0], sum = 0;
  for (int i = 1; i < m; ++i) top = fmax(top, (double)row[i]);
  for (int i = 0; i < m; ++i) sum += exp((double)row[i] - top);
  for (int i = 0; i < m; ++i) y[blockIdx.x * m + i] = exp((double)row[i] - top) / sum;
}
)cu";

void write_kernels(const Bench& bench) {
  bench.write("k.cu", std::string("#ifndef LOWEST\n#define LOWEST -INFINITY\n#endif\n") + kKernels);
}

void write_softmax(const Bench& bench, const std::string& lowest) {
  write_kernels(bench);
  bench.write("softmax.json", R"({"kernel": "k.cu:softmax", "genes": {"LOWEST": [)" + lowest + R"(]},
    "shapes": [{"N": 16, "M": 128}], "arguments": ["y=out float[N,M]", "x=float[N,M]", "M"],
    "grid": ["N"], "block": [32], "reference": "k.cu:softmax_plain", "reference_grid": ["N"],
    "reference_block": [1]})");
}

nlohmann::json attacked(const Bench& bench, const std::string& subject, int code, const std::string& time = "100s") {
  return bench.json({"attack", subject, "--device", "vgpu", "--time", time, "--db", "t.db"}, code)["kernels"][0];
}

std::string kernel_of(const char* kind, const char* name) {
  return std::string(EVO_TEST_DATA "/attack/") + kind + "_" + name + ".json";
}

/// So many tries whatever the machine's load.
nlohmann::json attacked(const Bench& bench, const std::string& subject, int code, const std::string& tries,
                        const std::string& seed) {
  return bench.json({"attack", subject, "--device", "vgpu", "--tries", tries, "--seed", seed, "--db", "t.db"},
                    code)["kernels"][0];
}

/// Both kernels are right in the task's only regime, and the wrong one is slower: of equal ones one is an elite.
std::string with_normal_regime_alone(const Bench& bench) {
  write_softmax(bench, R"("-5e4f - threadIdx.x", "-INFINITY")");
  std::string form = bench.read("softmax.json");
  form.insert(form.find('{') + 1, R"("regimes": {"normal": {"distribution": "normal"}},)");
  bench.write("softmax.json", form);
  return "softmax.json";
}

std::vector<std::string> tune(const std::string& seed, const std::string& database = "t.db") {
  return {"tune", "softmax.json", "--device", "vgpu", "--evals", "2", "--seed", seed, "--db", database};
}

}  // namespace

namespace {

void check_found(const char* name, const std::string& seed) {
  const Bench bench;
  const nlohmann::json one = attacked(bench, kernel_of("fault", name), 1, "120", seed);
  INFO(name << " " << seed << one.dump(1));
  REQUIRE_FALSE(one["found"].is_null());
  CHECK((one["found"]["error"].is_null() || one["found"]["error"].get<double>() > 1));
}

constexpr const char* kFaults[] = {"attention_max_from_-1e4",
                                   "cross_entropy_max_from_zero",
                                   "deviation_in_one_pass",
                                   "distance_in_s8",
                                   "gemm_in_f16",
                                   "half_away",
                                   "last_of_equal",
                                   "log_sum_exp_without_max",
                                   "max_from_-1e4",
                                   "max_from_zero",
                                   "max_of_first_tile",
                                   "mean_in_f16",
                                   "online_max_from_-1e4",
                                   "overflow_of_s32",
                                   "product_in_f16",
                                   "products_in_s16",
                                   "row_of_16_bits",
                                   "scale_of_zeros",
                                   "scores_in_f16",
                                   "squares_in_f16",
                                   "sum_not_compensated",
                                   "sum_of_codes",
                                   "truncated"};

}  // namespace

TEST_CASE("an attack finds each of these faults", "[sweep]") {
  for (const char* name : kFaults) check_found(name, "1");
}

// Minutes: evo_tests_cli '[attack]' (docs/attack.md).
TEST_CASE("an attack finds each of these faults with another seed, too", "[.][attack]") {
  for (const char* name : kFaults) check_found(name, "2");
}

namespace {

void check_clean(const char* name, int tries, const std::string& seed) {
  const Bench bench;
  const nlohmann::json one = attacked(bench, kernel_of("honest", name), 0, std::to_string(tries), seed);
  INFO(name << " " << seed << one.dump(1));
  CHECK(one["found"].is_null());
  CHECK(one["tries"].get<int>() >= tries);
  CHECK_FALSE(std::filesystem::exists(bench / "t.db"));
}

constexpr const char* kHonest[] = {"agreement",
                                   "argmax",
                                   "attention",
                                   "attention_two_pass",
                                   "codes",
                                   "cross_entropy",
                                   "deviation",
                                   "distance",
                                   "dot",
                                   "gelu",
                                   "gemm",
                                   "gemm_s8",
                                   "layer_norm",
                                   "log_sum_exp",
                                   "quantise",
                                   "quantise_times",
                                   "rms_norm",
                                   "row_mean",
                                   "row_sum",
                                   "row_sum_serial",
                                   "scan",
                                   "softmax",
                                   "softmax_long",
                                   "softmax_online",
                                   "softmax_serial",
                                   "squares_s16",
                                   "twice"};

}  // namespace

TEST_CASE("an attack finds nothing wrong with honest kernels", "[sweep]") {
  for (const char* name : kHonest) check_clean(name, 40, "1");
}

// Half an hour: evo_tests_cli '[attack]' (docs/attack.md).
TEST_CASE("an attack as long as finds every fault finds nothing wrong with honest kernels", "[.][attack]") {
  for (const char* name : kHonest)
    for (const char* seed : {"1", "2"}) check_clean(name, 120, seed);
}

TEST_CASE("an elite goes through a short attack, and one that is found wrong is none any more", "[long]") {
  const Bench bench;
  with_normal_regime_alone(bench);
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    const std::string database = std::string(seed) + ".db";
    const Outcome outcome = bench.evo(tune(seed, database), kChecksElites);
    CHECK_THAT(outcome.out, ContainsSubstring("1 valid, 1 wrong_answer"));
    CHECK_THAT(outcome.err, ContainsSubstring("is no elite any more: wrong_answer: on inputs that an attack found, "
                                              "\"attack\": {\"distribution\":"));
    const nlohmann::json elites = bench.json({"elites", "--db", database});
    CHECK_THAT(elites.dump(), ContainsSubstring("times its limit"));
  }
}

TEST_CASE("the same seed attacks elites with the same inputs", "[long]") {
  const Bench bench;
  with_normal_regime_alone(bench);
  const auto regime_of = [](const std::string& text) {
    const std::size_t at = text.find("\"attack\": {");
    return text.substr(std::min(at, text.size()), text.find('\n', std::min(at, text.size())) - at);
  };
  const Outcome one = bench.evo(tune("7", "one.db"), kChecksElites);
  const Outcome again = bench.evo(tune("7", "again.db"), kChecksElites);
  INFO(one.err << again.err);
  CHECK_THAT(one.err, ContainsSubstring("\"attack\": {"));
  CHECK(regime_of(one.err) == regime_of(again.err));
}

TEST_CASE("what an attack has found rejects later candidates of the task, and files when they are verified", "[long]") {
  const Bench bench;
  with_normal_regime_alone(bench);
  bench.evo(tune("1", "runs/evo.db"), kChecksElites);
  const Outcome again = bench.evo(tune("1", "runs/evo.db"), kChecksElites);
  CHECK_THAT(again.err, ContainsSubstring("1 regime that evo attack found is validated, too"));
  CHECK_THAT(again.out, ContainsSubstring("1 valid, 1 wrong_answer"));
  CHECK_THAT(again.err, !ContainsSubstring("no elite any more"));

  const std::string best = best_of(bench);
  REQUIRE(bench.evo({"export", best, "-o", "best.cu"}).code == 0);
  CHECK(bench.evo({"verify", "best.cu", "--kernels-only"}).code == 0);
  std::string file = bench.read("best.cu");
  const std::size_t at = file.find("#define LOWEST -INFINITY");
  REQUIRE(at != std::string::npos);
  bench.write("wrong.cu", file.replace(at, 24, "#define LOWEST -5e4f"));
  const Outcome wrong = bench.evo({"verify", "wrong.cu", "--kernels-only"});
  CHECK(wrong.code == 1);
  CHECK_THAT(wrong.out, ContainsSubstring("regime attack_1"));
}

TEST_CASE("a file is attacked when it is verified", "[long]") {
  const Bench bench;
  with_normal_regime_alone(bench);
  bench.evo(tune("1", "runs/evo.db"));
  REQUIRE(bench.evo({"export", best_of(bench), "-o", "best.cu"}).code == 0);
  std::string file = bench.read("best.cu");
  const std::size_t at = file.find("#define LOWEST -INFINITY");
  REQUIRE(at != std::string::npos);
  bench.write("wrong.cu", file.replace(at, 24, "#define LOWEST -5e4f"));
  const Outcome wrong = bench.evo({"verify", "wrong.cu", "--db", "other.db", "--kernels-only"});
  CHECK(wrong.code == 1);
  CHECK_THAT(wrong.out, ContainsSubstring("on inputs that an attack found"));
}

TEST_CASE("the regime that an attack prints can be pasted into a task", "[long]") {
  const Bench bench;
  write_softmax(bench, R"("-5e4f", "-INFINITY")");
  std::string form = bench.read("softmax.json");
  const std::string regime = attacked(bench, "softmax.json", 1)["found"]["regime"].dump();
  form.insert(form.rfind('}'), R"(, "regimes": {"normal": {"distribution": "normal"}, "attack": )" + regime + "}");
  bench.write("pasted.json", form);
  const Outcome outcome =
      bench.evo({"tune", "pasted.json", "--device", "vgpu", "--evals", "2", "--seed", "1", "--quiet", "--db", "p.db"});
  CHECK_THAT(outcome.out, ContainsSubstring("1 valid, 1 wrong_answer"));
}

TEST_CASE("an attack of one seed finds the same again", "[long]") {
  const Bench bench;
  write_softmax(bench, "\"-5e4f\"");
  const nlohmann::json one = attacked(bench, "softmax.json", 1), again = attacked(bench, "softmax.json", 1);
  CHECK(one["found"]["regime"] == again["found"]["regime"]);
  CHECK(one["tries"] == again["tries"]);
}
