#include "cli/kernel/kernel_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <map>

#include "cli/subject/arguments.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::cli {
namespace {

Dim3 parse_dim3(const std::string& option, const std::string& text) {
  const char separator = text.find(',') != std::string::npos ? ',' : 'x';
  const std::vector<std::string> parts = split(text, separator);
  if (parts.size() > 3) throw usage_error(fmt::format("{} {}: at most three sizes, such as 64,4,1", option, text));
  Dim3 dims{1, 1, 1};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint64_t size = parse_number(option, trim(parts[i]), 1);
    if (size > 0x7fff'ffffu) throw usage_error(fmt::format("{} {}: too large", option, text));
    dims[i] = static_cast<std::uint32_t>(size);
  }
  return dims;
}

void take_option(KernelRequest& request, std::size_t& argument, const std::string& name, const std::string& value) {
  LaunchRequest& launch = request.launches.back();
  if (name == "--then") {
    request.launches.emplace_back();
  } else if (name == "--kernel") {
    launch.kernel = value;
  } else if (name == "--grid") {
    launch.grid = parse_dim3(name, value);
  } else if (name == "--block") {
    launch.block = parse_dim3(name, value);
  } else if (name == "--cluster") {
    launch.cluster = parse_dim3(name, value);
  } else if (name == "--smem") {
    const std::uint64_t bytes = parse_number(name, value);
    if (bytes > 1u << 30) throw usage_error(fmt::format("--smem {}: more than any GPU has", value));
    launch.smem_bytes = static_cast<std::uint32_t>(bytes);
  } else if (name == "--arg") {
    launch.arguments.push_back(parse_argument(value, argument++));
  }
}

}  // namespace

void take_kernel_options(KernelRequest& request, const CLI::App& command) {
  std::map<const CLI::Option*, std::size_t> taken;
  std::size_t argument = 0;
  for (const CLI::Option* option : command.parse_order()) {
    const std::size_t index = taken[option]++;
    const std::string value = index < option->results().size() ? option->results()[index] : "";
    take_option(request, argument, "--" + (option->get_lnames().empty() ? "" : option->get_lnames().front()), value);
  }
}

void add_kernel_options(CLI::App& command, KernelRequest& request) {
  const auto launch_option = [&](const char* name, const char* help, const char* type) {
    CLI::Option* option = command.add_option(std::string(name));
    option->description(help)->type_name(type)->expected(1)->allow_extra_args(false);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  launch_option("--kernel", "The kernel to launch; an instance of a template as in C++ (default: the only kernel)",
                "NAME");
  launch_option("--grid", "Blocks of the grid: 64 or 64,4,1 (default: 1)", "X,Y,Z");
  launch_option("--block", "Threads of a block (default: 1)", "X,Y,Z");
  launch_option("--cluster", "Blocks of a cluster (default: 1)", "X,Y,Z");
  launch_option("--smem", "Dynamic shared memory of a block (default: 0)", "BYTES");
  launch_option("--arg", "The next argument of the kernel, as described below", "ARG");
  add_option(command, "--symbol", "NAME=TYPE[N]:FILLING", request.symbols,
             "Set a __device__ or __constant__ variable before the first launch, and show it afterwards");
  command.add_flag("--then", request.further_launches,
                   "Then launch another kernel, which the following options describe");
  add_option(command, "--seed", "N", request.seed, "Seed of random buffer contents");
  add_option(command, "--device", "DEVICE", request.device,
             fmt::format("vgpu:MODEL: {}", fmt::join(vgpu::model_names(), ", ")));
  add_option(command, "--arch", "sm_NN", request.arch, "Compile for this architecture (default: the device's)");
  add_option(command, "--max-instructions", "N", request.max_instructions,
             "Stop once a warp has executed this many (default: 100000000)");
  add_option(command, "--nvrtc-option", "OPTION", request.nvrtc_options,
             "Hand this option to NVRTC: --use_fast_math, --std=c++20");
  add_option(command, "-D,--define", "NAME[=VALUE]", request.defines, "Define a macro");
  add_option(command, "-I,--include", "DIR", request.include_folders, "Also look for headers in this folder");
}

const char* const kArgumentsHelp = R"(Arguments, in the kernel's order:
  int:5  float:0.5  size_t:1024  float4:1,2,3,4      scalars, vectors
  {int:3;x=float[8]:ones;null}  bytes:0a0b           structs by value
  x=float[1024]:normal    int[64,64]:iota            buffers: NAME=TYPE[SIZES]:FILLING
  y=half[]:@y.npy         uchar[256]:@raw.bin        buffers from files
  y  null                                            an earlier buffer; a null pointer
Fillings: zeros ones unset iota(first,step) uniform(low,high) normal(mean,sd) shuffle bits 3.5 {1,2,3} @FILE
docs/vgpu_run.md has examples.)";

}  // namespace evo::cli
