#include "cli/check/further_trials.h"

#include "cli/subject/restore.h"
#include "population/store/store.h"
#include "tests/cli/bench.h"

using namespace evo;
using namespace evo::testing;

namespace {

/// Rows of x plus the row's number. The guard asks for the array's end and not the row's: where `each` does not divide
/// W, two blocks write the same element, one of them wrongly.
constexpr const char* kRows = R"cuda(
extern "C" __global__ void rows(float* y, const float* x, int H, int W) {
  const int c = (blockIdx.x * 32 + threadIdx.x) * each, r = blockIdx.y;
  if (c >= W) return;
  for (int j = 0; j < each; ++j)
    if (GUARD) y[r * W + c + j] = (x[r * W + c + j] + r) * FACTOR;
}
extern "C" __global__ void plain(float* y, const float* x, int H, int W) {
  for (int i = 0; i < H * W; ++i) y[i] = x[i] + i / W;
}
)cuda";

constexpr const char* kTrialForm = R"json({
  "kernel": "rows.cu:rows", "genes": {"each": [2]},
  "shapes": [{"H": 16, "W": 64}, {"H": 7, "W": 61}, {"H": 1, "W": 31}],
  "arguments": ["y=out float[H,W]", "x=float[H,W]", "H", "W"],
  "grid": ["ceil_div(W, 32 * each)", "H"], "block": [32],
  "reference": "rows.cu:plain", "reference_grid": [1], "reference_block": [1] MORE})json";

std::string with(std::string text, const std::string& place, const std::string& value) {
  return text.replace(text.find(place), place.size(), value);
}

/// Tunes the kernel of this guard. `more`: of the form. `factor`: by which its values are wrong.
Outcome tuned(const Bench& bench, const std::string& guard, const std::string& more = "",
              const std::string& factor = "1.0f") {
  bench.write("rows.cu", with(with(kRows, "GUARD", guard), "FACTOR", factor));
  bench.write("rows.json", with(kTrialForm, "MORE", more));
  return bench.evo({"tune", "rows.json", "--device", "vgpu", "--evals", "2", "--seed", "1", "--db", "evo.db"},
                   kChecksElites);
}

constexpr const char* kTailRace = "r * W + c + j < H * W";
constexpr const char* kRight = "c + j < W";
constexpr const char* kNarrow = "c + j < W && W < 32768";

}  // namespace

TEST_CASE("a race at a shape that is neither the cheapest nor timed is found in a search") {
  const Bench bench;
  const Outcome outcome = tuned(bench, kTailRace);
  CHECK(outcome.code == 1);
  CHECK(holds(outcome.err, "candidate 1 is no elite any more: crashed: shape 7x61"));
  CHECK(holds(outcome.err, "race"));
  CHECK(bench.json({"elites", "--db", "evo.db"})["elites"].empty());
}

TEST_CASE("a kernel that is right up to a size is found in a search, with the `requires` that would exclude it",
          "[long]") {
  const Bench bench;
  const Outcome outcome = tuned(bench, kNarrow);
  CHECK(outcome.code == 1);
  CHECK(holds(outcome.err, "\"requires\": \"W <= 64\""));
  const Bench limited;
  CHECK(tuned(limited, kNarrow, R"(, "requires": "W < 32768")").code == 0);
}

TEST_CASE("a right kernel is an elite without reservations, and what it could not be launched at is said") {
  const Bench bench;
  const Outcome outcome = tuned(bench, kRight);
  REQUIRE(outcome.code == 0);
  const nlohmann::json elite = bench.json({"elites", "--db", "evo.db"})["elites"][0];
  CHECK_FALSE(elite["provisional"].get<bool>());
  const std::string sizes = elite["checks"][2]["note"].get<std::string>();
  CHECK(holds(sizes, "W=33"));
  CHECK(holds(sizes, "\"requires\": \"H <= 16\""));  // 65,537 rows of blocks are too many
}

TEST_CASE("a kernel that errs too much on average at sizes that nobody listed is no elite") {
  // Less than the limit of one draw, 2e-5, and more than honest arithmetic.
  const Bench bench;
  const Outcome outcome = tuned(bench, kRight, "", "(W == 64 || W == 61 || W == 31 ? 1.0f : 1.00001f)");
  CHECK(outcome.code == 1);
  CHECK(holds(outcome.err, "is no elite any more: wrong_answer: at a size that it was not validated at"));
}

TEST_CASE("an elite found on a GPU is watched on the virtual GPU of its architecture") {
  const Bench bench;
  tuned(bench, kTailRace);
  cli::Claim claim = cli::claim_of(cli::restore(Store::open(bench / "evo.db", Store::Mode::read), 1));
  claim.device.id = "cuda:0";
  claim.device.kind = "cuda";
  claim.device.name = "NVIDIA H200";
  const auto watching = cli::watching_device(claim.device);
  REQUIRE(watching);
  CHECK(watching->id == "vgpu:h200");
  const CheckedElite checked =
      cli::FurtherTrials({.device = *watching, .worker_command = {EVO_BINARY, "worker"}}).judge(claim);
  REQUIRE(checked.finding);
  CHECK(checked.finding->verdict == Verdict::crashed);
  CHECK(holds(checked.finding->reason, "race"));
  claim.device.arch = "sm_999";
  CHECK_FALSE(cli::watching_device(claim.device));
}
