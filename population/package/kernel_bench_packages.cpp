#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "population/code/text.h"
#include "population/export/export.h"
#include "population/export/provenance.h"
#include "population/package/filled.h"
#include "population/package/package.h"
#include "population/package/torch_binding.h"

// kernel_bench_model.py, ...
namespace evo::embedded {
extern const std::string_view kernel_bench_model, kernel_bench_model_new, kernel_bench_read_me, robust_kbench_forward,
    robust_kbench_config, robust_kbench_read_me, torch_draws;
}  // namespace evo::embedded

namespace evo {
namespace {

/// Writes what both judges take.
class KernelBenchWriter {
 public:
  KernelBenchWriter(const PackageRequest& request, std::string_view judge)
      : request_(request),
        call_(torch_call(request.kernels.front())),
        kernels_(specialised_of(request.kernels, {request.name, "binding"}, Naming::numbered)),
        launchers_(launchers_of(request)) {
    const auto refuse = [&](const std::string& why) {
      throw usage_error(fmt::format("{} cannot be exported for {}: {}", call_.task->name, judge, why));
    };
    if (request.torch_reference.empty()) refuse("the task has no reference.py (docs/export.md)");
    if (call_.outputs().size() != 1 || call_.outputs().front()->tensor->inout)
      refuse("it judges kernels with one new tensor as their result");
    if (!call_.size_arguments().empty()) refuse("sizes must follow from its inputs");
  }

  SourceTree kernelbench() const {
    const std::string flags = joined(nvcc_flags(), ", ", [](const std::string& flag) { return "\"" + flag + "\""; });
    const std::string source = this->source();
    if (source.find("'''") != std::string::npos)
      throw usage_error("the kernel has ''' in its source, with which a text of Python ends");
    SourceTree files;
    files["model.py"] = with({{"SIZE_VALUES", first_sizes()},
                              {"SIZES", fmt::format("{}", fmt::join(call_.task->shape_parameters, ", "))},
                              {"CASTS", casts()}},
                             embedded::kernel_bench_model);
    files["model_new.py"] =
        with({{"SOURCE", source}, {"FLAGS", flags}, {"CASTS", casts()}}, embedded::kernel_bench_model_new);
    files["README.md"] = with({{"PRECISION", precision()}}, embedded::kernel_bench_read_me);
    return files;
  }

  SourceTree robust_kbench() const {
    std::vector<std::string> typed;
    std::vector<std::string> names;
    std::string doc;
    for (const TorchTensor* tensor : call_.read()) {
      typed.push_back(tensor->name + ": torch.Tensor");
      names.push_back("\"" + tensor->name + "\"");
      doc += fmt::format("{} (torch.Tensor): {} {}\n", tensor->name, tensor->dtype->python,
                         python_shape(*tensor->tensor, call_.options));
    }
    const TorchTensor& output = *call_.outputs().front();
    std::vector<std::string> defaults;
    for (const auto& [name, value] : timed().front()->parameters)
      defaults.push_back(fmt::format("{}={}", name, expr::to_string(value)));
    SourceTree files;
    files["func_forward.py"] =
        with({{"TYPED_CALL", fmt::format("{}", fmt::join(typed, ", "))},
              {"ARGUMENT_DOC", doc},
              {"OUTPUT_DOC", fmt::format("{} {}", output.dtype->python, python_shape(*output.tensor, call_.options))},
              {"SIZE_DEFAULTS", fmt::format("{}", fmt::join(defaults, ", "))},
              {"INPUT_NAMES", fmt::format("{}", fmt::join(names, ", "))}},
             embedded::robust_kbench_forward);
    const std::string all = joined(timed(), ", ", [](const Shape* shape) { return "{" + json_sizes(*shape) + "}"; });
    files["config_forward.json"] =
        filled(embedded::robust_kbench_config, {{"FIRST_SIZES", json_sizes(*timed().front())}, {"ALL_SIZES", all}});
    files["forward.cu"] = source();
    files["README.md"] = with({{"ARCH", torch_arch(request_.kernels.front())}, {"TOLERANCE", tolerance()}},
                              embedded::robust_kbench_read_me);
    return files;
  }

 private:
  std::string with(Replacements more, std::string_view text) const {
    const Replacements values = {{"NAME", request_.name},
                                 {"SUMMARY", summary_of(*call_.task)},
                                 {"REFERENCE", std::string(trim(request_.torch_reference))},
                                 {"OPTIONS", python_options(call_)},
                                 {"DRAWS", filled(embedded::torch_draws, {{"DEVICE", "cpu"}})},
                                 {"CALL", call_arguments(call_)},
                                 {"BY_NAME", arguments_by_name(call_)},
                                 {"INPUTS", drawn_inputs(call_)},
                                 {"OUTPUT_DTYPE", std::string(call_.outputs().front()->dtype->python)}};
    more.insert(more.end(), values.begin(), values.end());
    return filled(text, more);
  }

  std::string source() const {
    return torch_function_source({request_, call_, launchers_, kernels_, measured_to_choose(request_, kernels_)},
                                 "forward");
  }

  std::vector<const Shape*> timed() const {
    std::vector<const Shape*> shapes;
    for (const ExportRequest& kernel : request_.kernels)
      for (const Shape& shape : kernel.provenance.target.timed) shapes.push_back(&shape);
    return shapes;
  }

  std::string first_sizes() const {
    return joined(call_.task->shape_parameters, ", ",
                  [&](const std::string& name) { return expr::to_string(timed().front()->parameters.at(name)); });
  }

  static std::string json_sizes(const Shape& shape) {
    std::vector<std::string> sizes;
    for (const auto& [name, value] : shape.parameters)
      sizes.push_back(fmt::format("\"{}\": {}", name, expr::to_string(value)));
    return fmt::format("{}", fmt::join(sizes, ", "));
  }

  /// KernelBench casts all inputs to one dtype.
  std::string casts() const {
    std::string code;
    for (const TorchTensor* tensor : call_.read())
      code += fmt::format("{0} = {0}.to({1})\n", tensor->name, tensor->dtype->python);
    return code;
  }

  /// The inputs' precision, and the output's where the inputs are smaller.
  std::string precision() const {
    std::vector<const TorchTensor*> tensors = call_.read();
    tensors.push_back(call_.outputs().front());
    for (const TorchTensor* tensor : tensors) {
      if (tensor->dtype->dtype == DType::bf16) return "bf16";
      if (tensor->dtype->dtype == DType::f16) return "fp16";
    }
    return "fp32";
  }

  std::string tolerance() const { return call_.outputs().front()->dtype->dtype == DType::f32 ? "1e-3" : "1e-2"; }

  /// But for C++'s standard, which torch's headers decide.
  std::vector<std::string> nvcc_flags() const {
    std::vector<std::string> flags = split(nvcc_command(request_.kernels), ' ');
    flags.erase(flags.begin());
    std::erase_if(flags, [](const std::string& flag) { return flag.starts_with("-std="); });
    return flags;
  }

  const PackageRequest& request_;
  TorchCall call_;
  std::vector<Specialised> kernels_;
  std::vector<std::string> launchers_;
};

}  // namespace

SourceTree kernelbench_package(const PackageRequest& request) {
  require_alike(request.kernels);
  return KernelBenchWriter(request, "KernelBench").kernelbench();
}

SourceTree robust_kbench_package(const PackageRequest& request) {
  require_alike(request.kernels);
  return KernelBenchWriter(request, "robust-kbench").robust_kbench();
}

}  // namespace evo
