#include "bench.h"

#include <stdlib.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>
#include <utility>

namespace evo::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kToyTask = R"json({
  "summary": "c = a + b",
  "shape_parameters": ["N"],
  "specialised": [],
  "options": { "mode": ["exact", "loose"] },
  "inputs": [ { "name": "a", "dtype": "f32", "dims": ["N"] }, { "name": "b", "dtype": "f32", "dims": ["N"] } ],
  "outputs": [ { "name": "c", "dtype": "f32", "dims": ["N"] } ],
  "shapes": { "tiny": { "N": 5 }, "middle": { "N": 700 }, "large": { "N": 4000 } },
  "sets": { "cuda": { "timed": ["large"], "validated": ["tiny", "middle", "large"] },
            "vgpu": { "timed": ["middle"], "validated": ["tiny", "middle"] } },
  "seeds": 2,
  "regimes": { "normal": { "distribution": "normal" }, "peaked": { "distribution": "normal", "gain": 4 } },
  "limits": { "relative_l2": 0.0001, "cosine": 0.9999 },
  "objectives": { "latency": {}, "accurate": { "limits": { "relative_l2": 0.000001 } } },
  "floor": { "flops": "N", "bytes": "12 * N", "math": "f32" },
  "reference": { "kernel": "toy_reference", "grid": ["ceil_div(N, 128)", "1", "1"], "block": ["128", "1", "1"],
                 "arguments": ["a", "b", "c", "N"] }
})json";

constexpr const char* kToyReference =
    R"cuda(extern "C" __global__ void toy_reference(const float* a, const float* b, float* c, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < N) c[i] = a[i] + b[i];
}
)cuda";

/// The values of the gene `wrong`: with false alone, every genome is right.
std::string toy_family(const std::string& wrong) {
  return R"json({
  "summary": "Each thread adds some elements",
  "requires": "sm >= 80",
  "genes": [
    {"name": "threads", "values": [32, 64, 128, 256], "doc": "threads of a CTA"},
    {"name": "items", "values": [1, 2, 4], "doc": "elements of a thread"},
    {"name": "order", "values": ["strided", "blocked"], "when": "items > 1", "doc": "which elements a thread takes"},
    {"name": "padding", "values": [0, 1, 2], "when": "items == 1", "doc": "idle iterations"},
    {"name": "wrong", "values": )json" +
         wrong + R"json(, "doc": "whether the sum is a difference"}
  ],
  "derived": [ {"name": "tile", "value": "threads * items"} ],
  "constraints": [ {"that": "tile <= 512", "why": "a tile has at most 512 elements"} ],
  "launches": [
    {"kernel": "toy", "grid": ["ceil_div(N, tile)", "1", "1"], "block": ["threads", "1", "1"], "arguments": ["a", "b", "c", "N"]}
  ]
})json";
}

constexpr const char* kToyKernel =
    R"cuda(extern "C" __global__ void toy(const float* a, const float* b, float* c, int N) {
  volatile int idle = 0;
  for (int i = 0; i < ${padding} * 8; ++i) idle = idle + 1;
//% for item in 0..items
//%   if order == 'strided'
  const int i${item} = blockIdx.x * ${tile} + ${item} * ${threads} + threadIdx.x;
//%   else
  const int i${item} = blockIdx.x * ${tile} + threadIdx.x * ${items} + ${item};
//%   end
  if (i${item} < N) c[i${item}] = a[i${item}] ${wrong ? '-' : '+'} b[i${item}];
//% end
}
)cuda";

}  // namespace

Bench::Bench() {
  std::string name = (fs::temp_directory_path() / "evo_cli_XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  folder_ = name;
}

Bench::~Bench() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Bench::write(const std::string& name, const std::string& text) const {
  fs::create_directories((folder_ / name).parent_path());
  std::ofstream out(folder_ / name, std::ios::binary);
  out << text;
  REQUIRE(out.flush());
}

std::string Bench::read(const std::string& name) const {
  std::ifstream in(folder_ / name, std::ios::binary);
  INFO(name);
  REQUIRE(in);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> Bench::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    if (!entry.is_directory()) names.push_back(fs::relative(entry.path(), folder_).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Outcome Bench::evo(const std::vector<std::string>& arguments, ProcessOptions options) const {
  options.folder = folder_;
  return run_evo(arguments, options);
}

nlohmann::json Bench::json(std::vector<std::string> arguments, int code) const {
  arguments.push_back("--json");
  // A self-test of every specimen takes minutes on a busy machine.
  ProcessOptions patient;
  patient.deadline = std::chrono::minutes(15);
  const Outcome outcome = evo(arguments, patient);
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.code == code);
  return nlohmann::json::parse(outcome.out);
}

void write_toy_task(const Bench& bench, bool with_wrong) {
  bench.write("templates/toy/task.json", kToyTask);
  bench.write("templates/toy/reference.cu", kToyReference);
  bench.write("templates/toy/plain/family.json", toy_family(with_wrong ? "[false, true]" : "[false]"));
  bench.write("templates/toy/plain/kernel.cu", kToyKernel);
}

void check_refused(const Outcome& outcome, int code, const std::vector<std::string>& parts) {
  INFO("standard output: " << outcome.out << "\nstandard error: " << outcome.err);
  CHECK(outcome.code == code);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.starts_with("evo: "));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  for (const std::string& part : parts) {
    INFO("expected: " << part);
    CHECK(outcome.err.find(part) != std::string::npos);
  }
}

}  // namespace evo::testing
