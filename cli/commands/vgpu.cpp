#include "cli/commands/vgpu.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "cli/commands/kernel_values.h"
#include "cli/commands/vgpu_report.h"
#include "cli/subject/arguments.h"
#include "cli/text/exit_code.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/base/parallel.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/compile/toolkit_headers.h"
#include "evaluator/device/device_buffers.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

constexpr std::uint64_t kLargestSourceBytes = 64 << 20;

// ---- The command line, in the order typed: --then begins another launch.

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

// ---- Compiling

/// "saxpy" and "reduce<float, 256>" from what the PTX calls them.
std::string readable_name(const std::string& ptx_name) {
  if (!ptx_name.starts_with("_Z")) return ptx_name;  // Of extern "C"; "f" would be a float.
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(ptx_name.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return ptx_name;
  std::string name = text.get();
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (depth != 0) continue;
    if (name[i] == ' ') begin = i + 1;  // Templates come with their result: "void reduce<float>(...)".
    if (name[i] == '(' && name.compare(i, 21, "(anonymous namespace)") != 0) return name.substr(begin, i - begin);
    if (name[i] == '(') i += 20;
  }
  return name;
}

bool is_expression(const std::string& kernel) {
  return kernel.find_first_of("<:&") != std::string::npos;
}

struct Program {
  Binary binary;
  std::map<std::string, std::string> kernel_of;  ///< PTX names of C++ expressions.
  bool compiled = false;
};

Program compile(const KernelRequest& request, const std::string& arch, const std::string& source) {
  const NvrtcEnvironment environment = NvrtcEnvironment::of_process();
  const std::unique_ptr<SourceCompiler> compiler = make_compiler(load_nvrtc(environment));
  SourceRequest wanted;
  wanted.source = source;
  wanted.name = request.file;
  wanted.arch = arch;
  const std::size_t slash = request.file.rfind('/');
  wanted.include_folders.push_back(slash == std::string::npos ? "." : request.file.substr(0, slash + 1));
  for (const std::string& folder : request.include_folders) wanted.include_folders.push_back(folder);
  for (const auto& folder : toolkit_include_folders(environment, compiler->path()))
    wanted.include_folders.push_back(folder.string());
  for (const std::string& define : request.defines) wanted.options.push_back("-D" + define);
  for (const LaunchRequest& launch : request.launches) {
    if (is_expression(launch.kernel)) wanted.kernel_expressions.push_back(launch.kernel);
  }
  auto compiled = compiler->compile(wanted);
  if (const auto* failure = std::get_if<Failure>(&compiled))
    throw usage_error(fmt::format("{} does not compile for {}: {}", request.file, arch, failure->reason));
  auto& done = std::get<CompiledSource>(compiled);
  Program program;
  program.compiled = true;
  program.binary = std::move(done.binary);
  for (std::size_t i = 0; i < wanted.kernel_expressions.size(); ++i)
    program.kernel_of[wanted.kernel_expressions[i]] = done.kernels[i];
  return program;
}

Program load_program(const KernelRequest& request, const std::string& arch) {
  std::string text = read_whole_file(request.file, kLargestSourceBytes);
  if (!request.file.ends_with(".ptx")) return compile(request, arch, text);
  Program program;
  program.binary.arch = arch;
  program.binary.ptx = std::move(text);
  return program;
}

std::string find_kernel(const Program& program, const std::vector<std::string>& kernels, const std::string& wanted,
                        const std::string& file) {
  if (const auto found = program.kernel_of.find(wanted); found != program.kernel_of.end()) return found->second;
  std::vector<std::string> matches, names;
  for (const std::string& kernel : kernels) {
    const std::string name = readable_name(kernel);
    names.push_back(name);
    if (wanted.empty() || kernel == wanted || name == wanted || name.ends_with("::" + wanted))
      matches.push_back(kernel);
  }
  if (matches.size() == 1) return matches.front();
  if (wanted.empty())
    throw usage_error(fmt::format("{} has several kernels, name one with --kernel: {}", file, list_of(names)));
  if (!matches.empty())
    throw usage_error(fmt::format("several kernels of {} are called {}: {}", file, wanted, list_of(matches)));
  throw usage_error(fmt::format("{} has no kernel {}; there are: {} (a template needs its arguments: \"{}<float>\")",
                                file, wanted, list_of(names), wanted));
}

// ---- Running

/// The buffers of all launches, by name.
class BufferPool {
 public:
  BufferPool(Device& device, std::uint64_t seed) : device_(device), seed_(seed) {}

  DeviceAddress make(BufferSpec spec) {
    if (find(spec.name) != nullptr)
      throw usage_error(
          fmt::format("--arg: there are two buffers '{}'; a buffer that an earlier argument described is "
                      "passed by its name alone",
                      spec.name));
    Held held;
    held.result.before = content_of(spec, seed_);
    held.memory = std::make_unique<DeviceMemory>(device_, held.result.before.size(), spec.name);
    if (spec.filling.kind != Filling::Kind::unset) device_.upload(held.memory->address(), held.result.before);
    held.result.spec = std::move(spec);
    buffers_.push_back(std::move(held));
    return buffers_.back().memory->address();
  }

  DeviceAddress address_of(const std::string& name) const {
    if (name.empty()) return 0;
    if (const Held* held = find(name)) return held->memory->address();
    throw usage_error(fmt::format("--arg {}: no earlier argument is a buffer of that name", name));
  }

  std::vector<BufferResult> download() {
    std::vector<BufferResult> results;
    for (Held& held : buffers_) {
      held.result.after.resize(held.result.before.size());
      device_.download(held.result.after, held.memory->address());
      results.push_back(std::move(held.result));
    }
    return results;
  }

 private:
  struct Held {
    BufferResult result;
    std::unique_ptr<DeviceMemory> memory;
  };
  const Held* find(const std::string& name) const {
    for (const Held& held : buffers_) {
      if (held.result.spec.name == name) return &held;
    }
    return nullptr;
  }

  Device& device_;
  std::uint64_t seed_;
  std::vector<Held> buffers_;
};

std::vector<std::byte> bytes_of(DeviceAddress address) {
  std::vector<std::byte> bytes(sizeof address);
  std::memcpy(bytes.data(), &address, sizeof address);
  return bytes;
}

/// The bytes of one argument, and what it is called in reports.
std::vector<std::byte> bind(BufferPool& buffers, const ArgumentSpec& argument, std::vector<std::string>& names) {
  if (const auto* value = std::get_if<ByValue>(&argument)) {
    names.push_back(value->text);
    return value->bytes;
  }
  if (const auto* reference = std::get_if<BufferReference>(&argument)) {
    names.push_back(reference->name.empty() ? "null" : reference->name);
    return bytes_of(buffers.address_of(reference->name));
  }
  const auto& spec = std::get<BufferSpec>(argument);
  names.push_back(spec.name);
  return bytes_of(buffers.make(spec));
}

/// "y=out.npy" for a buffer that some argument describes.
std::pair<std::string, std::string> parse_output(const KernelRequest& request, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    throw usage_error(fmt::format("--out {}: expected NAME=FILE", text));
  const std::string name = text.substr(0, equals);
  std::vector<std::string> names;
  for (const LaunchRequest& launch : request.launches) {
    for (const ArgumentSpec& argument : launch.arguments) {
      if (const auto* spec = std::get_if<BufferSpec>(&argument)) names.push_back(spec->name);
    }
  }
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw usage_error(fmt::format("--out {}: no buffer '{}'{}", text, name, suggestion(name, names)));
  return {name, text.substr(equals + 1)};
}

/// "sm_90", "sm_90a": whether there is such an architecture NVRTC knows.
std::string checked_arch(const std::string& arch) {
  std::string_view number = arch;
  if (number.starts_with("sm_")) number.remove_prefix(3);
  if (!number.empty() && std::string_view("af").find(number.back()) != std::string_view::npos) number.remove_suffix(1);
  if (arch.starts_with("sm_") && all_digits(number)) return arch;
  throw usage_error(fmt::format("--arch {}: write an architecture as sm_90 or sm_90a", arch));
}

std::unique_ptr<vgpu::VirtualGpu> open_virtual_gpu(const DeviceInfo& info) {
  if (info.kind != "vgpu")
    throw usage_error(fmt::format("evo vgpu runs kernels on a virtual GPU, not on {}: --device vgpu:MODEL", info.id));
  return vgpu::make_device(info.id.substr(std::string_view("vgpu:").size()), usable_cores());
}

}  // namespace

VgpuRun run_kernels(const KernelRequest& request) {
  VgpuRun run;
  run.file = request.file;
  run.device = resolve_device(request.device);
  run.arch = request.arch.empty() ? run.device.arch : checked_arch(request.arch);
  run.shown_values = parse_number("--print", request.shown_values);
  const std::uint64_t seed = parse_number("--seed", request.seed);
  std::vector<std::pair<std::string, std::string>> outputs;
  for (const std::string& output : request.outputs) outputs.push_back(parse_output(request, output));

  const Program program = load_program(request, run.arch);
  run.compiled = program.compiled;
  run.build = program.binary.build;
  const std::unique_ptr<vgpu::VirtualGpu> gpu = open_virtual_gpu(run.device);
  if (request.sanitised) gpu->sanitise();
  std::optional<Failure> failure;
  const std::unique_ptr<Module> module = gpu->load(program.binary, failure);
  if (failure) throw usage_error(fmt::format("{}: {}", request.file, failure->reason));
  const std::vector<std::string> kernels = gpu->kernels(*module);
  if (kernels.empty()) throw usage_error(fmt::format("{} has no kernel", request.file));

  BufferPool buffers(*gpu, seed);
  for (const LaunchRequest& wanted : request.launches) {
    LaunchResult& result = run.launches.emplace_back();
    result.launch.kernel = find_kernel(program, kernels, wanted.kernel, request.file);
    result.kernel = readable_name(result.launch.kernel);
    result.launch.grid = wanted.grid;
    result.launch.block = wanted.block;
    result.launch.cluster = wanted.cluster;
    result.launch.dynamic_smem_bytes = wanted.smem_bytes;
    std::vector<std::vector<std::byte>> arguments;
    for (const ArgumentSpec& argument : wanted.arguments)
      arguments.push_back(bind(buffers, argument, result.arguments));
    result.failure = gpu->run_kernel(*module, result.launch, arguments, result.run);
    if (result.failure) break;
  }
  run.findings = gpu->findings();
  run.buffers = buffers.download();
  for (const auto& [name, path] : outputs) {
    const auto buffer = std::find_if(run.buffers.begin(), run.buffers.end(),
                                     [&](const BufferResult& held) { return held.spec.name == name; });
    if (buffer != run.buffers.end()) write_buffer(path, buffer->spec, buffer->after);
  }
  return run;
}

void take_kernel_options(KernelRequest& request, const CLI::App& command) {
  std::map<const CLI::Option*, std::size_t> taken;
  std::size_t argument = 0;
  for (const CLI::Option* option : command.parse_order()) {
    const std::size_t index = taken[option]++;
    const std::string value = index < option->results().size() ? option->results()[index] : "";
    take_option(request, argument, "--" + (option->get_lnames().empty() ? "" : option->get_lnames().front()), value);
  }
}

namespace {

int run_vgpu(const KernelRequest& request) {
  const VgpuRun run = run_kernels(request);
  fmt::print("{}", request.json ? vgpu_json(run) : vgpu_text(run, terminal_of(stdout), request.explained));
  return succeeded(run) ? kDone : kNothingValid;
}

}  // namespace

void add_kernel_options(CLI::App& command, KernelRequest& request) {
  const auto launch_option = [&](const char* name, const char* help, const char* type) {
    CLI::Option* option = command.add_option(std::string(name));
    option->description(help)->type_name(type)->expected(1)->allow_extra_args(false);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  launch_option("--kernel", "Which kernel; a template's instance as in C++ (default: the only one)", "NAME");
  launch_option("--grid", "Blocks: 64 or 64,4,1 (default: 1)", "X,Y,Z");
  launch_option("--block", "Threads of a block (default: 1)", "X,Y,Z");
  launch_option("--cluster", "Blocks of a cluster (default: 1)", "X,Y,Z");
  launch_option("--smem", "Dynamic shared memory of a block (default: 0)", "BYTES");
  launch_option("--arg", "The next argument, see below", "ARG");
  command.add_flag("--then", request.further_launches,
                   "Launch another kernel, described by the options behind this one");
  command.add_option("--seed", request.seed, "Of the random fillings")->capture_default_str()->type_name("N");
  command.add_option("--device", request.device, "vgpu:MODEL: h200, h100, a100, l4, rtx4090")
      ->capture_default_str()
      ->type_name("DEVICE");
  command.add_option("--arch", request.arch, "Compile for this architecture (default: the device's)")
      ->type_name("sm_NN");
  command.add_option("-D,--define", request.defines, "Define a macro")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  command.add_option("-I,--include", request.include_folders, "Look for headers here too")
      ->type_name("DIR")
      ->allow_extra_args(false);
}

const char* const kArgumentsHelp = R"(Arguments, in the kernel's order:
  int:5  float:0.5  size_t:1024  float4:1,2,3,4      scalars, vectors
  {int:3;double:0.5}  bytes:0a0b  bytes:@FILE        structs by value
  x=float[1024]:normal    int[64,64]:iota            buffers: NAME=TYPE[SIZES]:FILLING
  y=half[]:@y.npy         uchar[256]:@raw.bin        buffers from files
  y  null                                            a buffer named before; no buffer
Fillings: zeros ones unset iota(first,step) uniform(low,high) normal(mean,sd) shuffle bits 3.5 {1,2,3} @FILE
docs/vgpu_run.md has examples.)";

void add_vgpu(CLI::App& app, Action& action) {
  auto request = std::make_shared<KernelRequest>();
  CLI::App* command = app.add_subcommand("vgpu", "Run any kernel, a .cu or .ptx file, on the virtual GPU");
  command->add_option("FILE", request->file, "CUDA C++ for NVRTC, or PTX (.ptx)")->required()->type_name("");
  add_kernel_options(*command, *request);
  command->add_option("--out", request->outputs, "Write a buffer to a file when all has run: .npy, else its bytes")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  command->add_option("--print", request->shown_values, "How many first values of each buffer to show")
      ->capture_default_str()
      ->type_name("N");
  command->add_flag("--explain", request->explained, "Show where the modelled time goes");
  command->add_flag("--json", request->json, kJsonHelp);
  command->footer(kArgumentsHelp);
  command->callback([request, &action, command] {
    take_kernel_options(*request, *command);
    action = [request] { return run_vgpu(*request); };
  });
}

}  // namespace evo::cli
