#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "cli/sources/templates.h"
#include "cli/subject/lookup.h"
#include "engine/short_form/t1.h"
#include "engine/space/space.h"
#include "engine/strategy/strategies.h"
#include "evaluator/hosts/devices.h"

// What the search itself costs: building spaces, and each ask and tell after many answers. Arguments
// that are not google-benchmark's are T1 files, whose spaces are built too.
//   evo_bench_search ../shared/spaces/t1/gemm_milo.json
namespace {

using namespace evo;

void count_space(benchmark::State& state, const Space& space) {
  state.counters["legal"] = static_cast<double>(space.size());
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  state.counters["peak_MB"] = static_cast<double>(used.ru_maxrss) / 1024;  // of the process so far
}

/// Ready for counting, sampling and neighbours.
void build_family(benchmark::State& state, const std::string& task_name, const std::string& family) {
  const SourceTree tree = cli::load_templates({});
  const Task task = cli::find_task(tree, task_name);
  const DeviceInfo device = resolve_device("vgpu:h200");
  const Target target = make_target(task, device.kind, {"mission"}, {});
  for (auto _ : state) {
    const Space space = cli::make_space(tree, task, device, target, family);
    count_space(state, space);
  }
}

void build_t1(benchmark::State& state, const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  for (auto _ : state) {
    const Space space({read_t1(text.str(), path)}, {}, {});
    count_space(state, space);
  }
}

/// A thousand asks and tells after ten thousand.
void ask_and_tell(benchmark::State& state, const std::string& strategy_name) {
  const SourceTree tree = cli::load_templates({});
  const Task task = cli::find_task(tree, "fp8_sdpa");
  const DeviceInfo device = resolve_device("vgpu:h200");
  const Space space = cli::make_space(tree, task, device, make_target(task, device.kind, {"mission"}, {}), {});
  const std::unique_ptr<Strategy> strategy = make_strategy(strategy_name, space, 1);
  const auto step = [&] {
    const Proposal proposal = strategy->ask().value();
    // Any latency that depends on the genes will do.
    const Point point = space.point(proposal.genome);
    double latency_us = 10;
    for (std::size_t gene = 0; gene < point.alleles.size(); ++gene)
      latency_us += static_cast<double>((point.alleles[gene] + 1) * (gene % 5));
    strategy->tell({proposal.ticket, latency_us});
  };
  for (int answers = 0; answers < 10'000; ++answers) step();
  for (auto _ : state) step();
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const char* family : {"wgmma", "mma_sync"})
    benchmark::RegisterBenchmark(("build fp8_sdpa/" + std::string(family)).c_str(), build_family, "fp8_sdpa", family)
        ->Unit(benchmark::kMillisecond);
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') {
      std::fprintf(stderr, "%s is no option of Google Benchmark; other arguments are files in the T1 format\n",
                   argv[i]);
      return 2;
    }
    benchmark::RegisterBenchmark(("build " + std::filesystem::path(argv[i]).stem().string()).c_str(), build_t1,
                                 std::string(argv[i]))
        ->Unit(benchmark::kMillisecond);
  }
  for (const std::string& strategy : strategy_names()) {
    benchmark::RegisterBenchmark(("ask and tell " + strategy).c_str(), ask_and_tell, strategy)
        ->Iterations(1000)
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
}
