#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/base/text.h"
#include "engine/expression/expression_python.h"
#include "engine/task/scope.h"
#include "population/code/text.h"
#include "population/export/export.h"
#include "population/export/provenance.h"
#include "population/package/filled.h"
#include "population/package/package.h"
#include "population/package/torch_binding.h"

// flashinfer_bench_run.py, flashinfer_bench_read_me.md.in
namespace evo::embedded {
extern const std::string_view flashinfer_bench_run, flashinfer_bench_read_me;
}  // namespace evo::embedded

namespace evo {
namespace {

/// The judge's folders are named after authors.
constexpr const char* kAuthor = "evo";

/// A file of safetensors with one tensor of f32: its scales, between 0.5 and 1.5. The judge draws codes about as
/// large: with much smaller scales its limits of 0.01 would accept zeros.
std::string scales_file(const std::string& name, const std::vector<std::int64_t>& dims, Rng& rng) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  std::string data;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto scale = static_cast<float>(0.5 + rng.unit());
    char bytes[sizeof scale];
    std::memcpy(bytes, &scale, sizeof scale);
    data.append(bytes, sizeof scale);
  }
  std::string header =
      nlohmann::ordered_json{{name, {{"dtype", "F32"}, {"shape", dims}, {"data_offsets", {0, data.size()}}}}}.dump();
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string size;
  for (int i = 0; i < 8; ++i) size += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return size + header + data;
}

class FlashInferWriter {
 public:
  explicit FlashInferWriter(const PackageRequest& request)
      : request_(request),
        call_(torch_call(request.kernels.front())),
        kernels_(specialised_of(request.kernels, {request.name, "binding"}, Naming::numbered)),
        launchers_(launchers_of(request)) {
    if (request.torch_reference.empty()) refuse("the task has no reference.py (docs/export.md)");
    if (!call_.size_arguments().empty()) refuse("sizes must follow from its inputs");
    for (const TorchTensor& tensor : call_.tensors) {
      if (tensor.tensor->inout) refuse(fmt::format("it has no tensors that are changed in place, as {}", tensor.name));
      if (tensor.dtype->dtype == DType::u8) refuse(fmt::format("it has no uint8, which {} is", tensor.name));
    }
  }

  SourceTree write() const {
    SourceTree files;
    const std::string& op_type = call_.task->name;
    files[fmt::format("definitions/{}/{}.json", op_type, request_.name)] = definition().dump(2) + "\n";
    files[fmt::format("solutions/{}/{}/{}/{}.json", kAuthor, op_type, request_.name, solution_name())] =
        solution().dump(2) + "\n";
    workloads(files);
    files["README.md"] = filled(embedded::flashinfer_bench_read_me,
                                {{"NAME", request_.name}, {"ARCH", torch_arch(request_.kernels.front())}});
    return files;
  }

 private:
  using Json = nlohmann::ordered_json;

  [[noreturn]] void refuse(const std::string& why) const {
    throw usage_error(fmt::format("{} cannot be exported for flashinfer-bench: {}", call_.task->name, why));
  }

  /// Axes are names: "B", or "const_1" for a number.
  std::vector<std::string> axes_of(const Tensor& tensor) const {
    std::vector<std::string> axes;
    for (const Expression& dim : tensor.dims) {
      const std::string text = to_python(dim, call_.options);
      const std::vector<std::string>& names = call_.task->shape_parameters;
      if (std::ranges::find(names, text) != names.end()) {
        axes.push_back(text);
      } else if (text.find_first_not_of("0123456789") == std::string::npos) {
        axes.push_back("const_" + text);
      } else {
        refuse(fmt::format("its shapes are names and numbers, not {}", dim.text()));
      }
    }
    return axes;
  }

  Json tensors(bool outputs) const {
    Json list = Json::object();
    for (const TorchTensor& tensor : call_.tensors) {
      if (tensor.output != outputs) continue;
      list[tensor.name] = {{"shape", axes_of(*tensor.tensor)},
                           {"dtype", std::string(tensor.dtype->python.substr(std::string_view("torch.").size()))}};
    }
    return list;
  }

  Json definition() const {
    Json axes = Json::object();
    for (const std::string& name : call_.task->shape_parameters) axes[name] = {{"type", "var"}};
    for (const TorchTensor& tensor : call_.tensors) {
      for (const std::string& axis : axes_of(*tensor.tensor))
        if (axis.starts_with("const_")) axes[axis] = {{"type", "const"}, {"value", std::stoll(axis.substr(6))}};
    }
    std::vector<std::string> dtypes;
    for (const TorchTensor* tensor : call_.outputs()) dtypes.emplace_back(tensor->dtype->python);
    std::string reference = std::string(trim(request_.torch_reference));
    if (reference.find("import torch\n") == std::string::npos) reference.insert(0, "import torch\n\n");
    const std::string run =
        filled(embedded::flashinfer_bench_run, {{"REFERENCE", reference},
                                                {"OPTIONS", python_options(call_)},
                                                {"CALL", call_arguments(call_)},
                                                {"BY_NAME", arguments_by_name(call_)},
                                                {"DTYPES", fmt::format("{}", fmt::join(dtypes, ", "))}});
    return {{"name", request_.name},
            {"op_type", call_.task->name},
            {"axes", axes},
            {"inputs", tensors(false)},
            {"outputs", tensors(true)},
            {"reference", run},
            {"description", summary_of(*call_.task)}};
  }

  std::string solution_name() const {
    return fmt::format("{}_candidate_{}", request_.name, request_.kernels.front().provenance.candidate);
  }

  Json solution() const {
    const TorchBinding binding{request_, call_, launchers_, kernels_, measured_to_choose(request_, kernels_)};
    const Provenance& p = request_.kernels.front().provenance;
    return {{"name", solution_name()},
            {"definition", request_.name},
            {"author", kAuthor},
            {"description", fmt::format("Found by evo {}", p.evo_version)},
            {"spec",
             {{"language", "cuda"},
              {"target_hardware", {p.device.name}},
              {"entry_point", "kernel.cu::forward"},
              {"dependencies", Json::array()},
              {"destination_passing_style", false},
              {"binding", "torch"}}},
            {"sources", {{{"path", "kernel.cu"}, {"content", torch_function_source(binding, "forward")}}}}};
  }

  bool is_scale(const TorchTensor& tensor) const {
    return tensor.dtype->dtype == DType::f32 && std::ranges::any_of(call_.tensors, [&](const TorchTensor& other) {
             return other.tensor->scale == tensor.tensor->name;
           });
  }

  void workloads(SourceTree& files) const {
    Rng rng(1);
    std::string lines;
    for (const ExportRequest& kernel : request_.kernels) {
      for (const Shape& shape : kernel.provenance.target.timed) {
        std::string uuid = request_.name;
        Json axes = Json::object();
        for (const std::string& name : call_.task->shape_parameters) {
          axes[name] = std::get<std::int64_t>(shape.parameters.at(name));
          uuid += fmt::format("_{}", axes[name].get<std::int64_t>());
        }
        const Bindings known = joined(call_.options, shape.parameters);
        Json inputs = Json::object();
        for (const TorchTensor* tensor : call_.read()) {
          inputs[tensor->name] = {{"type", "random"}};
          if (!is_scale(*tensor)) continue;
          const std::string path = fmt::format("blob/workloads/{}/{}/{}_{}.safetensors", call_.task->name,
                                               request_.name, uuid, tensor->name);
          files[path] = scales_file(tensor->name, dims_of(*tensor->tensor, known), rng);
          inputs[tensor->name] = {{"type", "safetensors"}, {"path", path}, {"tensor_key", tensor->name}};
        }
        const Json trace = {{"definition", request_.name},
                            {"workload", {{"axes", axes}, {"inputs", inputs}, {"uuid", uuid}}}};
        lines += trace.dump() + "\n";
      }
    }
    files[fmt::format("workloads/{}/{}.jsonl", call_.task->name, request_.name)] = lines;
  }

  const PackageRequest& request_;
  TorchCall call_;
  std::vector<Specialised> kernels_;
  std::vector<std::string> launchers_;
};

}  // namespace

SourceTree flashinfer_bench_package(const PackageRequest& request) {
  require_alike(request.kernels);
  return FlashInferWriter(request).write();
}

}  // namespace evo
