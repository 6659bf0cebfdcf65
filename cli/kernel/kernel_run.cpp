#include "cli/kernel/kernel_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "cli/kernel/kernel_buffers.h"
#include "cli/kernel/module_symbols.h"
#include "cli/kernel/parameter_check.h"
#include "cli/kernel/removed_accesses.h"
#include "cli/subject/arguments.h"
#include "cli/text/files.h"
#include "engine/base/demangled.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/source/host_code.h"
#include "engine/source/kernel_functions.h"
#include "engine/source/preprocessor_lines.h"
#include "evaluator/base/cores.h"
#include "evaluator/compile/kernel_names.h"
#include "evaluator/device/device_buffers.h"
#include "evaluator/hosts/compile_worker.h"
#include "evaluator/hosts/devices.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

constexpr std::uint64_t kLargestSourceBytes = 64 << 20;

/// Of a source and the headers that it includes: NVRTC takes half a minute for them.
constexpr std::uintmax_t kMostBytesToCompile = 16 << 20;

// ---- Compiling

/// Throws usage_error where the source is too large with what it includes from the folders, by name.
void refuse_large_headers(const SourceRequest& wanted) {
  namespace fs = std::filesystem;
  std::uintmax_t bytes = 0;
  std::set<fs::path> known;
  std::vector<std::pair<fs::path, std::string>> texts = {{wanted.name, wanted.source}};
  while (!texts.empty()) {
    const auto [file, text] = std::move(texts.back());
    texts.pop_back();
    bytes += text.size();
    if (bytes > kMostBytesToCompile) {
      throw usage_error(fmt::format("{}: with {} it has more than {} bytes to be compiled", wanted.name, file.string(),
                                    kMostBytesToCompile));
    }
    std::vector<fs::path> folders = {file.parent_path()};
    folders.insert(folders.end(), wanted.include_folders.begin(), wanted.include_folders.end());
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      const std::string_view named = trim(directive_text(line, "include"));
      const std::size_t end = named.find_first_of("\">", 1);
      if (named.empty() || end == named.npos) continue;
      const auto header = std::ranges::find_if(folders, [&](const fs::path& folder) {
        std::error_code ignored;
        return fs::is_regular_file(folder / named.substr(1, end - 1), ignored);
      });
      if (header == folders.end()) continue;
      fs::path path = (*header / named.substr(1, end - 1)).lexically_normal();
      if (known.insert(path).second) texts.emplace_back(path, read_file(path, kLargestSourceBytes));
    }
  }
}

/// The kernel of a launch that names none is found later, and a file may well have kernels that nothing launches.
std::vector<std::string> instances_of(const KernelRequest& request) {
  std::vector<std::string> instances;
  for (const LaunchRequest& launch : request.launches) {
    if (launch.kernel.find('<') != std::string::npos) instances.push_back(launch.kernel);
  }
  return instances;
}

/// "fill is a template", as the compiler's message begins.
std::string template_text(const std::string& instance) {
  return instance.substr(0, instance.find('<')) + " is a template";
}

struct KernelFile {
  Binary binary;
  bool compiled = false;
};

/// Throws usage_error where the user's options cannot be.
SourceRequest source_request(const KernelRequest& request, const std::string& arch, const std::string& source) {
  SourceRequest wanted;
  wanted.source = has_host_code(source) ? device_code(source) : source;
  wanted.name = request.file;
  wanted.arch = arch;
  const std::size_t slash = request.file.rfind('/');
  wanted.include_folders.push_back(slash == std::string::npos ? "." : request.file.substr(0, slash + 1));
  for (const std::string& folder : request.include_folders) wanted.include_folders.push_back(folder);
  for (const std::string& define : request.defines) wanted.options.push_back("-D" + define);
  for (const std::string& option : request.nvrtc_options) {
    if (option.find("-arch") != std::string::npos || option.find("-gpu-architecture") != std::string::npos)
      throw usage_error(fmt::format("--nvrtc-option {}: --arch chooses the architecture", option));
    wanted.options.push_back(option);
  }
  wanted.kernels = instances_of(request);
  return wanted;
}

KernelFile compile(const KernelRequest& request, const DeviceInfo& device, const std::string& arch,
                   const std::string& source) {
  const SourceRequest wanted = source_request(request, arch, source);
  refuse_large_headers(wanted);
  auto compiled = CompileWorker(device, CompileWorker::Reads::what_user_may).compile(wanted);
  if (const auto* failure = std::get_if<Failure>(&compiled)) {
    const std::vector<std::string> templates = kernel_templates(wanted.source);
    const auto unnamed = std::ranges::find_if(
        templates, [&](const std::string& instance) { return failure->reason.starts_with(template_text(instance)); });
    if (unnamed != templates.end())
      throw usage_error(fmt::format("{}: {}: say --kernel \"{}\"", request.file, template_text(*unnamed), *unnamed));
    throw usage_error(fmt::format("{} does not compile for {}: {}", request.file, arch, failure->reason));
  }
  return {std::move(std::get<Binary>(compiled)), true};
}

KernelFile load_file(const KernelRequest& request, const DeviceInfo& device, const std::string& arch) {
  if (!request.file.ends_with(".ptx"))
    return compile(request, device, arch, read_text_file(request.file, kLargestSourceBytes));
  KernelFile program;
  program.binary.arch = arch;
  program.binary.ptx = read_file(request.file, kLargestSourceBytes);
  return program;
}

/// The lines in which a debug build accesses memory and the program does not.
std::vector<std::uint32_t> removed_accesses(const KernelRequest& request, const DeviceInfo& device,
                                            const std::string& arch, const Binary& binary) {
  SourceRequest wanted = source_request(request, arch, read_text_file(request.file, kLargestSourceBytes));
  wanted.options.push_back("-G");
  const auto debug = CompileWorker(device, CompileWorker::Reads::what_user_may).compile(wanted);
  if (!std::holds_alternative<Binary>(debug)) return {};
  const auto all = lines_with_accesses(std::get<Binary>(debug).ptx, request.file);
  const auto kept = lines_with_accesses(binary.ptx, request.file);
  std::vector<std::uint32_t> removed;
  std::ranges::set_difference(all, kept, std::back_inserter(removed));
  return removed;
}

/// The name in PTX of the kernel that a launch wants, or of the only one.
std::string kernel_of(const KernelFile& program, const std::vector<std::string>& kernels, const std::string& wanted,
                      const std::string& file) {
  if (wanted.empty() && kernels.size() == 1) return kernels.front();
  if (wanted.empty())
    throw usage_error(
        fmt::format("{} has several kernels, name one with --kernel: {}", file, list_of_kernels(kernels)));
  const auto found = find_kernel(kernels, program.binary.build.ptx_name(wanted));
  if (const auto* none = std::get_if<NoSuchKernel>(&found)) throw usage_error(fmt::format("{}: {}", file, none->why));
  return std::get<std::string>(found);
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
    held.address = held.memory->address();
    if (spec.filling.kind != DrawKind::unset) device_.upload(held.address, held.result.before);
    held.result.spec = std::move(spec);
    buffers_.push_back(std::move(held));
    return buffers_.back().address;
  }

  /// A variable of the module: it gets its content, or keeps its own where the filling is `unset`.
  void attach(BufferSpec spec, const vgpu::DeclaredVariable& variable) {
    if (find(spec.name) != nullptr) throw usage_error(fmt::format("--symbol: '{}' is given twice", spec.name));
    Held held;
    held.result.before = content_of(spec, seed_);
    if (held.result.before.size() > variable.bytes)
      throw usage_error(fmt::format("--symbol {}: the variable has {} bytes, {} were given", spec.name, variable.bytes,
                                    held.result.before.size()));
    held.address = variable.address;
    if (spec.filling.kind == DrawKind::unset)
      device_.download(held.result.before, held.address);
    else
      device_.upload(held.address, held.result.before);
    held.result.spec = std::move(spec);
    buffers_.push_back(std::move(held));
  }

  DeviceAddress address_of(const std::string& name) const {
    if (name.empty()) return 0;
    if (const Held* held = find(name)) return held->address;
    throw usage_error(fmt::format("--arg {}: no earlier argument is a buffer of that name", name));
  }

  std::vector<BufferResult> download() {
    std::vector<BufferResult> results;
    for (Held& held : buffers_) {
      held.result.after.resize(held.result.before.size());
      device_.download(held.result.after, held.address);
      results.push_back(std::move(held.result));
    }
    return results;
  }

 private:
  struct Held {
    BufferResult result;
    std::unique_ptr<DeviceMemory> memory;  ///< Null for a variable of the module.
    DeviceAddress address = 0;
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

/// The type that an argument such as "int:5" begins with; nothing for a struct.
std::optional<ValueType> type_given(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (text.starts_with('{') || text.starts_with("bytes:") || colon == std::string::npos) return std::nullopt;
  return type_named(trim(std::string_view(text).substr(0, colon)));
}

GivenArgument given_argument(const ArgumentSpec& argument) {
  if (const auto* value = std::get_if<ByValue>(&argument)) {
    const std::optional<ValueType> type = type_given(value->text);
    const std::size_t bytes = value->bytes.size();
    const std::string what = type ? type->name() : fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
    return {fmt::format("{} ('{}')", what, value->text), bytes, false, type, std::nullopt};
  }
  const auto* spec = std::get_if<BufferSpec>(&argument);
  const std::string name = spec != nullptr ? spec->name : std::get<BufferReference>(argument).name;
  return {name.empty() ? "a null pointer" : fmt::format("the buffer '{}'", name), sizeof(DeviceAddress), true,
          std::nullopt, std::nullopt};
}

/// Throws usage_error where an argument cannot be what the kernel's parameter is.
void check_arguments(const std::string& ptx_name, std::span<const vgpu::DeclaredParameter> parameters,
                     const std::vector<ArgumentSpec>& arguments) {
  const std::string kernel = readable_kernel_name(ptx_name);
  if (const std::string wrong = wrong_number(kernel, ptx_name, parameters.size(), arguments.size()); !wrong.empty())
    throw usage_error("--arg: " + wrong);
  std::vector<GivenArgument> given;
  for (const ArgumentSpec& argument : arguments) given.push_back(given_argument(argument));
  for (const Misfit& misfit : misfits(ptx_name, parameters, given))
    throw usage_error(fmt::format("--arg: argument {} of {} is {}, {} was given", misfit.index + 1, kernel,
                                  misfit.taken, misfit.given));
}

DeviceAddress address_of(BufferPool& buffers, const Pointer& pointer) {
  if (const auto* reference = std::get_if<BufferReference>(&pointer)) return buffers.address_of(reference->name);
  return buffers.make(std::get<BufferSpec>(pointer));
}

/// The bytes of one argument. Its name for reports is added to `names`.
std::vector<std::byte> bind(BufferPool& buffers, const ArgumentSpec& argument, std::vector<std::string>& names) {
  if (const auto* value = std::get_if<ByValue>(&argument)) {
    names.push_back(value->text);
    std::vector<std::byte> bytes = value->bytes;
    for (const auto& [begin, pointer] : value->pointers) {
      const DeviceAddress address = address_of(buffers, pointer);
      std::memcpy(bytes.data() + begin, &address, sizeof address);
    }
    return bytes;
  }
  if (const auto* reference = std::get_if<BufferReference>(&argument)) {
    names.push_back(reference->name.empty() ? "null" : reference->name);
    return bytes_of(buffers.address_of(reference->name));
  }
  const auto& spec = std::get<BufferSpec>(argument);
  names.push_back(spec.name);
  return bytes_of(buffers.make(spec));
}

/// "y=out.npy" for a buffer that some argument describes, or a symbol.
std::pair<std::string, std::string> parse_output(const KernelRequest& request, const std::vector<BufferSpec>& symbols,
                                                 const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    throw usage_error(fmt::format("--out {}: expected NAME=FILE", text));
  const std::string name = text.substr(0, equals);
  std::vector<std::string> names = evo::names_of(symbols);
  for (const LaunchRequest& launch : request.launches) {
    for (const ArgumentSpec& argument : launch.arguments) {
      for (const BufferSpec& spec : buffers_of(argument)) names.push_back(spec.name);
    }
  }
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw usage_error(fmt::format("--out {}: no buffer '{}'{}", text, name, suggestion(name, names)));
  return {name, text.substr(equals + 1)};
}

/// The text, if it is an architecture such as "sm_90" or "sm_90a"; throws usage_error otherwise.
std::string checked_arch(const std::string& arch) {
  std::string_view number = arch;
  if (number.starts_with("sm_")) number.remove_prefix(3);
  if (!number.empty() && std::string_view("af").find(number.back()) != std::string_view::npos) number.remove_suffix(1);
  if (arch.starts_with("sm_") && all_digits(number)) return arch;
  throw usage_error(fmt::format("--arch {}: write an architecture as sm_90 or sm_90a", arch));
}

LaunchResult run_launch(vgpu::VirtualGpu& gpu, const Module& module, const std::string& kernel,
                        const LaunchRequest& wanted, BufferPool& buffers) {
  LaunchResult result;
  result.launch.kernel = kernel;
  result.kernel = readable_kernel_name(kernel);
  result.launch.grid = wanted.grid;
  result.launch.block = wanted.block;
  result.launch.cluster = wanted.cluster;
  result.launch.dynamic_smem_bytes = wanted.smem_bytes;
  std::vector<std::vector<std::byte>> arguments;
  for (const ArgumentSpec& argument : wanted.arguments) arguments.push_back(bind(buffers, argument, result.arguments));
  result.failure = gpu.run_kernel(module, result.launch, arguments, result.run);
  if (result.failure && result.failure->verdict == Verdict::timed_out)
    result.failure->reason += "; --max-instructions sets the limit of a warp";
  return result;
}

}  // namespace

bool succeeded(const KernelResults& run) {
  return std::none_of(run.launches.begin(), run.launches.end(),
                      [](const LaunchResult& result) { return result.failure.has_value(); });
}

KernelResults run_kernels(const KernelRequest& request) {
  KernelResults run;
  run.file = request.file;
  run.device = resolve_device(request.device);
  run.arch = request.arch.empty() ? run.device.arch : checked_arch(request.arch);
  run.shown_values = parse_number("--print", request.shown_values);
  const std::uint64_t seed = parse_number("--seed", request.seed);
  std::vector<std::pair<std::string, std::string>> outputs;
  std::vector<BufferSpec> symbols;
  for (const std::string& symbol : request.symbols) symbols.push_back(parse_symbol(symbol));
  for (const std::string& output : request.outputs) outputs.push_back(parse_output(request, symbols, output));

  const KernelFile program = load_file(request, run.device, run.arch);
  run.compiled = program.compiled;
  run.build = program.binary.build;
  const std::unique_ptr<vgpu::VirtualGpu> gpu = vgpu::make_device(run.device, usable_cores());
  if (request.sanitised) gpu->sanitise();
  if (!request.max_instructions.empty())
    gpu->limit_instructions(parse_number("--max-instructions", request.max_instructions, 1));
  std::optional<Failure> failure;
  const std::unique_ptr<Module> module = gpu->load(program.binary, failure);
  if (failure) throw usage_error(fmt::format("{}: {}", request.file, failure->reason));
  const std::vector<std::string> kernels = gpu->kernels(*module);
  if (kernels.empty()) throw usage_error(fmt::format("{} has no kernel", request.file));

  std::vector<std::string> chosen;
  for (const LaunchRequest& wanted : request.launches) {
    chosen.push_back(kernel_of(program, kernels, wanted.kernel, request.file));
    if (const auto parameters = gpu->parameters(*module, chosen.back()))
      check_arguments(chosen.back(), *parameters, wanted.arguments);
  }
  for (auto& [name, kernel] : run.build.kernels) kernel.launched = std::ranges::find(chosen, name) != chosen.end();

  BufferPool buffers(*gpu, seed);
  const std::vector<vgpu::DeclaredVariable> variables = gpu->variables(*module);
  for (BufferSpec& symbol : symbols) {
    const vgpu::DeclaredVariable& variable = variable_named(variables, symbol.name, request.file);
    buffers.attach(std::move(symbol), variable);
  }
  for (std::size_t i = 0; i < chosen.size() && succeeded(run); ++i)
    run.launches.push_back(run_launch(*gpu, *module, chosen[i], request.launches[i], buffers));
  run.findings = gpu->findings(vgpu::Strictness::strict);
  const bool clean = std::ranges::all_of(run.findings, [](const auto& one) { return vgpu::is_weaker(one.kind); });
  if (request.sanitised && program.compiled && clean)
    run.removed = removed_accesses(request, run.device, run.arch, program.binary);
  run.buffers = buffers.download();
  for (const auto& [name, path] : outputs) {
    const auto buffer = std::find_if(run.buffers.begin(), run.buffers.end(),
                                     [&](const BufferResult& held) { return held.spec.name == name; });
    if (buffer != run.buffers.end()) write_buffer(path, buffer->spec, buffer->after);
  }
  return run;
}

}  // namespace evo::cli
