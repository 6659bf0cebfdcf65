#include "evaluator/compile/nvrtc_compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <type_traits>
#include <utility>

#include "engine/base/demangled.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/source/compile_options.h"
#include "engine/source/kernel_functions.h"
#include "evaluator/compile/cubin.h"
#include "evaluator/compile/kernel_names.h"
#include "evaluator/compile/ptx_text.h"
#include "evaluator/compile/ptxas_log.h"
#include "evaluator/compile/toolkit_headers.h"

namespace evo {
namespace {

/// Where NVRTC puts the names of wanted instances.
constexpr std::string_view kNamesFile = "__nv_name_map(";
constexpr const char* kNoKernel = "the source has no __global__ function";
constexpr const char* kHostFunction = "A function without execution space annotations";

class NvrtcProgram {
 public:
  NvrtcProgram(const NvrtcApi& api, const SourceRequest& request, std::span<const HeaderText> headers) : api_(api) {
    std::vector<const char*> names, texts;
    for (const HeaderText& header : headers) {
      names.push_back(header.name);
      texts.push_back(header.text);
    }
    status_ = api.create_program(&program_, request.source.c_str(), request.name.c_str(),
                                 static_cast<int>(headers.size()), texts.data(), names.data());
  }
  ~NvrtcProgram() {
    if (program_ != nullptr) api_.destroy_program(&program_);
  }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  nvrtcResult created() const { return status_; }
  nvrtcProgram get() const { return program_; }

 private:
  const NvrtcApi& api_;
  nvrtcProgram program_ = nullptr;
  nvrtcResult status_ = NVRTC_SUCCESS;
};

/// 90 from "sm_90a"; 0 when the text is not an architecture's name.
int number_of_arch(std::string_view arch) {
  int number = 0;
  if (arch.starts_with("sm_")) std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  return number;
}

/// "std" of "--std=c++17" and "-std=c++20": NVRTC takes an option once.
std::string_view key_of(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  return option.substr(0, option.find('='));
}

bool is_machine_fault(nvrtcResult result) {
  return result == NVRTC_ERROR_OUT_OF_MEMORY || result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
}

class NvrtcCompiler final : public Compiler {
 public:
  NvrtcCompiler(Nvrtc nvrtc, std::vector<std::filesystem::path> header_folders)
      : nvrtc_(std::move(nvrtc)), header_folders_(std::move(header_folders)) {
    int major = 0, minor = 0;
    require(api().version(&major, &minor), "nvrtcVersion");
    version_ = fmt::format("{}.{}", major, minor);
    int count = 0;
    require(api().supported_arch_count(&count), "nvrtcGetNumSupportedArchs");
    archs_.resize(static_cast<std::size_t>(count));
    require(api().supported_archs(archs_.data()), "nvrtcGetSupportedArchs");
  }

  using Compiler::compile;
  std::variant<Binary, Failure> compile(const SourceRequest& request) override;
  std::string version() override { return version_; }

 private:
  /// Compiles, makes these instances of templates and finds these variables.
  std::variant<Binary, Failure> compile(const SourceRequest& request, const std::vector<std::string>& instances,
                                        const std::vector<std::string>& variables) const;
  /// Why an instance cannot be made, with the kernels that there are, or a variable not be found.
  Failure no_such_name(const SourceRequest& request, Failure failure) const;
  std::vector<std::string> options_for(const SourceRequest& request, bool with_headers) const;
  /// Builds a program that has been created. What is wrong with the source is a Failure.
  std::variant<Binary, Failure> build(const NvrtcProgram& program, const std::string& arch,
                                      const std::vector<std::string>& options) const;
  nvrtcResult run(const NvrtcProgram& program, const std::vector<std::string>& options) const;
  const NvrtcApi& api() const { return nvrtc_.api; }

  void require(nvrtcResult result, const char* what) const {
    if (result == NVRTC_SUCCESS) return;
    throw machine_error(fmt::format("NVRTC ({}): {} failed: {}; reinstall NVRTC, or set EVO_NVRTC to another one",
                                    nvrtc_.path, what, api().error_string(result)));
  }

  /// Reads the log, the PTX or the cubin: NVRTC gives each as a size and a copy.
  template <typename Container>
  Container fetch(const NvrtcProgram& program, nvrtcResult (*size_of)(nvrtcProgram, size_t*),
                  nvrtcResult (*copy)(nvrtcProgram, char*), const char* what) const {
    std::size_t size = 0;
    require(size_of(program.get(), &size), what);
    Container content(size, {});
    if (size > 0) require(copy(program.get(), reinterpret_cast<char*>(content.data())), what);
    // Texts come with their terminating zero.
    if constexpr (std::is_same_v<Container, std::string>) content.resize(std::min(content.size(), content.find('\0')));
    return content;
  }

  void require_arch(std::string_view arch) const {
    if (std::find(archs_.begin(), archs_.end(), number_of_arch(arch)) != archs_.end()) return;
    throw machine_error(
        fmt::format("NVRTC {} ({}) cannot compile for {}; install another version and set EVO_NVRTC to it", version_,
                    nvrtc_.path, arch));
  }

  Nvrtc nvrtc_;
  std::vector<std::filesystem::path> header_folders_;
  std::string version_;
  std::vector<int> archs_;
};

Failure compile_failure(std::string reason, std::string log) {
  Failure failure;
  failure.verdict = Verdict::compile_failed;
  failure.reason = std::move(reason);
  failure.log = std::move(log);
  return failure;
}

constexpr std::size_t kLongestDirective = 32 << 10;

/// NVRTC 13 ends its process at a #line with a name of 64 KiB, which may come from a macro. 0: no line is as long.
std::size_t line_of_long_directive(std::string_view source) {
  std::size_t number = 0, begun = 0, length = 0;
  for (std::size_t at = 0; at < source.size();) {
    ++number;
    const std::string_view line = source.substr(at, std::min(source.find('\n', at), source.size()) - at);
    if (begun == 0 && trim(line).starts_with('#')) begun = number;
    if (begun != 0) length += line.size();
    if (length > kLongestDirective) return begun;
    if (!trim(line).ends_with('\\')) begun = length = 0;
    at += line.size() + 1;
  }
  return 0;
}

/// What to do about an error that does not say it itself.
std::string hint_at(std::string_view log) {
  struct Hint {
    std::string_view error;
    std::string_view what_to_do;
  };
  static constexpr std::string_view kTextures =
      "CUDA has no texture references since 12.0: a program has texture objects (docs/vgpu_program.md), and a task's "
      "kernel "
      "reads the data from a tensor";
  static constexpr Hint kHints[] = {
      {"identifier \"half\" is undefined", "half needs #include <cuda_fp16.h>"},
      {"identifier \"half2\" is undefined", "half2 needs #include <cuda_fp16.h>"},
      {"identifier \"__half\" is undefined", "__half needs #include <cuda_fp16.h>"},
      {"identifier \"__half2\" is undefined", "__half2 needs #include <cuda_fp16.h>"},
      {"identifier \"nv_bfloat16\" is undefined", "nv_bfloat16 needs #include <cuda_bf16.h>"},
      {"identifier \"__nv_bfloat16\" is undefined", "__nv_bfloat16 needs #include <cuda_bf16.h>"},
      {"identifier \"__nv_bfloat162\" is undefined", "__nv_bfloat162 needs #include <cuda_bf16.h>"},
      {"identifier \"__nv_fp8_e4m3\" is undefined", "__nv_fp8_e4m3 needs #include <cuda_fp8.h>"},
      {"identifier \"__nv_fp8_e5m2\" is undefined", "__nv_fp8_e5m2 needs #include <cuda_fp8.h>"},
      {"texture is not a template", kTextures},
      {"identifier \"texture\" is undefined", kTextures},
      {"surface is not a template", kTextures},
      {"identifier \"tex2D\" is undefined", kTextures},
      {"identifier \"tex1Dfetch\" is undefined", kTextures},
      {"identifier \"cooperative_groups\" is undefined", "it needs #include <cooperative_groups.h>"},
      {"identifier \"curandState\" is undefined", "it needs #include <curand_kernel.h>"},
  };
  for (const Hint& hint : kHints)
    if (log.find(hint.error) != std::string_view::npos) return fmt::format("; {}", hint.what_to_do);
  return {};
}

/// Names with template arguments: the compiler makes such a kernel only when it is asked for.
bool is_instance(const std::string& kernel) {
  return kernel.find('<') != std::string::npos;
}

std::vector<std::string> instances_of(const SourceRequest& request) {
  std::vector<std::string> instances;
  std::ranges::copy_if(request.kernels, std::back_inserter(instances), is_instance);
  return instances;
}

/// An error in a wanted name.
struct NameError {
  bool of_variable = false;
  std::string text;
};

/// "reduce<float>: cannot determine which instance ..." from "__nv_name_map(2): error: cannot determine ...": the first
/// name stands in line 2, instances before variables.
NameError described_name(const SourceRequest& request, std::string_view error) {
  std::vector<std::string> names = instances_of(request);
  const std::size_t instances = names.size();
  names.insert(names.end(), request.variables.begin(), request.variables.end());
  std::string_view rest = error;
  if (rest.starts_with(kNamesFile)) rest.remove_prefix(kNamesFile.size());
  const std::size_t digits = std::min(rest.find(')'), rest.size());
  const auto line = number_in<std::size_t>(rest.substr(0, digits));
  constexpr std::string_view kError = "error: ";
  const std::size_t what = error.find(kError);
  if (!line || *line < 2 || *line - 2 >= names.size() || what == std::string_view::npos)
    return {false, std::string(error)};
  std::size_t name = *line - 2;
  // What the compiler quotes is surer than the line.
  const auto is_quoted = [&](const std::string& one) {
    return error.find('"' + one.substr(one.rfind(':') + 1) + '"') != std::string_view::npos;
  };
  if (const auto quoted = std::ranges::find_if(names, is_quoted); quoted != names.end())
    name = static_cast<std::size_t>(quoted - names.begin());
  return {name >= instances, fmt::format("{}: {}", names[name], error.substr(what + kError.size()))};
}

/// Gives every kernel of the program its name in C++. Says which of the wanted ones are not there.
std::optional<std::string> add_kernels(Binary& binary, const std::vector<std::string>& wanted) {
  std::map<std::string, std::string>& known = binary.build.kernel_names;
  const std::vector<std::string> all = ptx_text::kernels(binary.ptx);
  for (const std::string& kernel : wanted) {
    if (known.contains(kernel)) continue;
    auto found = find_kernel(all, kernel);
    if (auto* reason = std::get_if<NoSuchKernel>(&found)) return std::move(reason->why);
    known[kernel] = std::get<std::string>(found);
  }
  for (const std::string& kernel : wanted) binary.build.kernels[known.at(kernel)].launched = true;
  // Nobody says which ones are launched: any may be.
  for (auto& [name, kernel] : binary.build.kernels) kernel.launched = kernel.launched || wanted.empty();
  std::set<std::string> taken;
  for (const auto& [name, ptx_name] : known) taken.insert(ptx_name);
  for (const std::string& kernel : all)
    if (!taken.contains(kernel)) known.emplace(readable_kernel_name(kernel), kernel);
  return std::nullopt;
}

nvrtcResult NvrtcCompiler::run(const NvrtcProgram& program, const std::vector<std::string>& options) const {
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  // NVRTC 12.9 and newer keep results on disk, and what comes from there has no ptxas log; older ones have neither the
  // cache nor the option.
  pointers.push_back("--no-cache");
  const nvrtcResult result = api().compile_program(program.get(), static_cast<int>(pointers.size()), pointers.data());
  if (result != NVRTC_ERROR_INVALID_OPTION) return result;
  pointers.pop_back();
  return api().compile_program(program.get(), static_cast<int>(pointers.size()), pointers.data());
}

std::variant<Binary, Failure> NvrtcCompiler::compile(const SourceRequest& given) {
  require_arch(given.arch);
  if (const std::size_t line = line_of_long_directive(given.source); line != 0)
    return compile_failure(
        fmt::format("line {}: a line of the preprocessor has more than {} characters", line, kLongestDirective), {});
  SourceRequest request = given;
  try {
    for (std::string& option : compile_options_in(given.source)) request.options.push_back(std::move(option));
  } catch (const Error& error) {
    return compile_failure(error.what(), {});
  }
  auto compiled = compile(request, instances_of(request), request.variables);
  if (const auto* failure = std::get_if<Failure>(&compiled);
      failure != nullptr && failure->log.find(kHostFunction) != std::string::npos) {
    // Functions of the host, as <cuda.h> declares them, are none of the kernels' and may be the device's as well.
    request.options.emplace_back("-default-device");
    compiled = compile(request, instances_of(request), request.variables);
  }
  if (auto* failure = std::get_if<Failure>(&compiled)) {
    const bool of_name = failure->log.find(kNamesFile) != std::string::npos;
    if (of_name) return no_such_name(request, std::move(*failure));
    if (const auto templates =
            failure->reason == kNoKernel ? kernel_templates(request.source) : std::vector<std::string>();
        !templates.empty())
      failure->reason = fmt::format("{} is a template: name an instance, as \"{}\"",
                                    templates.front().substr(0, templates.front().find('<')), templates.front());
    failure->reason += hint_at(failure->log);
    return std::move(*failure);
  }
  auto& binary = std::get<Binary>(compiled);
  if (auto reason = add_kernels(binary, request.kernels)) return compile_failure(*reason, binary.build.log);
  return compiled;
}

std::variant<Binary, Failure> NvrtcCompiler::compile(const SourceRequest& request,
                                                     const std::vector<std::string>& instances,
                                                     const std::vector<std::string>& variables) const {
  const bool with_headers = needs_headers(request.source) || !request.include_folders.empty();
  const NvrtcProgram program(api(), request, with_headers ? standard_headers() : std::span<const HeaderText>());
  require(program.created(), "nvrtcCreateProgram");
  const auto address_of = [](const std::string& variable) { return "&" + variable; };
  const auto add = [&](const std::string& expression) {
    require(api().add_name_expression(program.get(), expression.c_str()), "nvrtcAddNameExpression");
  };
  for (const std::string& instance : instances) add(instance);
  for (const std::string& variable : variables) add(address_of(variable));
  auto built = build(program, request.arch, options_for(request, with_headers));
  auto* binary = std::get_if<Binary>(&built);
  if (binary == nullptr) return built;
  const auto lowered = [&](const std::string& expression) -> std::string {
    const char* name = nullptr;
    require(api().lowered_name(program.get(), expression.c_str(), &name), "nvrtcGetLoweredName");
    return name;
  };
  for (const std::string& instance : instances) binary->build.kernel_names[instance] = lowered(instance);
  for (const std::string& variable : variables) binary->build.variables[variable] = lowered(address_of(variable));
  return built;
}

Failure NvrtcCompiler::no_such_name(const SourceRequest& request, Failure failure) const {
  auto compiled = compile(request, {}, {});
  const auto* other = std::get_if<Failure>(&compiled);
  if (other != nullptr && other->reason != kNoKernel) return *other;
  const NameError error = described_name(request, failure.reason);
  failure.reason = fmt::format("the program has no {} {}", error.of_variable ? "variable" : "kernel", error.text);
  if (error.of_variable) return failure;
  // A source whose kernels are all templates has none until an instance is made.
  if (const auto* binary = std::get_if<Binary>(&compiled))
    failure.reason += "; there are: " + list_of_kernels(ptx_text::kernels(binary->ptx));
  return failure;
}

std::vector<std::string> NvrtcCompiler::options_for(const SourceRequest& request, bool with_headers) const {
  std::vector<std::string> options = compile_options(request.arch, request.max_registers);
  if (with_headers) {
    options.push_back(fmt::format("--pre-include={}", kPreambleHeader));
    for (const std::string& folder : request.include_folders) options.push_back("-I" + folder);
    for (const std::filesystem::path& folder : header_folders_) options.push_back("-I" + folder.string());
  }
  // nvcc has them without being asked.
  if (with_headers || request.source.find("__int128") != std::string::npos) options.push_back("--device-int128");
  for (const std::string& given : request.options) {
    std::erase_if(
        options, [&](const std::string& ours) { return ours.find('=') != ours.npos && key_of(ours) == key_of(given); });
    options.push_back(given);
  }
  return options;
}

std::variant<Binary, Failure> NvrtcCompiler::build(const NvrtcProgram& program, const std::string& arch,
                                                   const std::vector<std::string>& options) const {
  const auto begin = std::chrono::steady_clock::now();
  const nvrtcResult result = run(program, options);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;

  if (is_machine_fault(result)) require(result, "nvrtcCompileProgram");
  std::string log = repeatable_log(fetch<std::string>(program, api().log_size, api().log, "nvrtcGetProgramLog"));
  if (result == NVRTC_ERROR_COMPILATION) return compile_failure(first_error(log), log);
  if (result != NVRTC_SUCCESS)
    return compile_failure(fmt::format("NVRTC: {}{} (options: {})", api().error_string(result),
                                       log.empty() ? "" : ": " + first_error(log), fmt::join(options, " ")),
                           log);

  Binary binary;
  binary.arch = arch;
  binary.ptx = fetch<std::string>(program, api().ptx_size, api().ptx, "nvrtcGetPTX");
  binary.cubin = fetch<std::vector<std::byte>>(program, api().cubin_size, api().cubin, "nvrtcGetCUBIN");
  if (binary.cubin.empty()) return compile_failure("NVRTC reported success but made an empty cubin", std::move(log));
  if (binary.ptx.empty()) return compile_failure("NVRTC reported success but made no PTX", std::move(log));

  Build& build = binary.build;
  build.kernels = kernel_builds(log);
  if (build.kernels.empty()) return compile_failure(kNoKernel, std::move(log));
  for (const std::string& kernel : ptx_text::cooperative_kernels(binary.ptx)) build.kernels[kernel].cooperative = true;
  build.arch = arch;
  build.cubin_hash = cubin_hash(binary.cubin);
  build.log = std::move(log);
  build.compile_ms = took.count();
  build.flags = fmt::format("{}", fmt::join(options, " "));
  return binary;
}

}  // namespace

std::vector<std::string> compile_options(std::string_view arch, int max_registers) {
  std::vector<std::string> options = {
      fmt::format("--gpu-architecture={}", arch), "--std=c++17",
      "--generate-line-info",  // The virtual GPU and the sanitiser name source lines.
      "--ptxas-options=-v",    // Registers and spills in the log.
  };
  if (max_registers > 0) options.push_back(fmt::format("--maxrregcount={}", max_registers));
  return options;
}

std::unique_ptr<Compiler> make_compiler(Nvrtc nvrtc, std::vector<std::filesystem::path> header_folders) {
  return std::make_unique<NvrtcCompiler>(std::move(nvrtc), std::move(header_folders));
}

std::unique_ptr<Compiler> make_nvrtc_compiler() {
  const NvrtcEnvironment environment = NvrtcEnvironment::of_process();
  Nvrtc nvrtc = load_nvrtc(environment);
  auto folders = toolkit_include_folders(environment, nvrtc.path);
  return make_compiler(std::move(nvrtc), std::move(folders));
}

}  // namespace evo
