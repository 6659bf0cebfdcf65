#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/task/limits.h"
#include "engine/task/scope.h"
#include "population/code/alignment.h"
#include "population/code/text.h"
#include "population/export/export.h"
#include "population/export/provenance.h"
#include "population/package/filled.h"
#include "population/package/package.h"
#include "population/package/torch_binding.h"

// torch_project.toml, torch_fallback.py, ...
namespace evo::embedded {
extern const std::string_view torch_project, torch_fallback, torch_no_fallback, torch_backward, torch_no_backward,
    torch_module, torch_draws, torch_tests, torch_setup, torch_read_me, licence;
}  // namespace evo::embedded

namespace evo {
namespace {

/// The shapes that there are kernels for, to test with: the timed ones, and the smallest of the others.
std::vector<Shape> shapes_to_test(const std::vector<Specialised>& kernels) {
  constexpr std::size_t kOthers = 3;
  std::vector<Shape> timed;
  std::map<std::int64_t, Shape> others;  // by elements
  const auto add = [](std::vector<Shape>& to, const Shape& shape) {
    const auto same = [&](const Shape& known) { return known.parameters == shape.parameters; };
    if (std::ranges::none_of(to, same)) to.push_back(shape);
  };
  for (const Specialised& kernel : kernels) {
    const Target& target = kernel.request->provenance.target;
    for (const Shape& shape : target.timed)
      if (is_of(shape, kernel.values)) add(timed, shape);
    for (const Shape& shape : target.validated) {
      if (!is_of(shape, kernel.values)) continue;
      const Bindings known = joined(target.options, shape.parameters);
      std::int64_t elements = 0;
      for (const TensorPlace& place : present_tensors(*kernel.request)) elements += element_count(*place.tensor, known);
      others.emplace(elements, shape);
    }
  }
  const std::size_t most = timed.size() + kOthers;
  for (const auto& [elements, shape] : others)
    if (timed.size() < most) add(timed, shape);
  return timed;
}

bool has_kernel(const std::vector<Specialised>& kernels, const Shape& shape) {
  return std::ranges::any_of(kernels, [&](const Specialised& kernel) {
    const Bindings known = joined(shape.parameters, kernel.scope);
    return is_of(shape, kernel.values) && kernel.request->task.legal.evaluate_bool(known) &&
           kernel.request->family.legal.evaluate_bool(known);
  });
}

/// A shape near `near` that there is no kernel for; if there is one, a shape of the task's.
std::optional<Shape> shape_outside(const std::vector<Specialised>& kernels, const Shape& near) {
  const ExportRequest& request = *kernels.front().request;
  std::vector<std::string> parameters = request.task.specialised;
  parameters.insert(parameters.end(), request.task.shape_parameters.begin(), request.task.shape_parameters.end());
  std::optional<Shape> illegal;
  for (const std::string& parameter : parameters) {
    for (const std::int64_t value : {192, 384, 96, 48, 77}) {
      Shape shape = near;
      shape.parameters[parameter] = value;
      try {
        if (has_kernel(kernels, shape)) continue;
        if (is_legal(request.task, request.provenance.target.options, shape)) return shape;
        if (!illegal) illegal = shape;
      } catch (const Error&) {
        continue;
      }
    }
  }
  return illegal;
}

/// "1, 8, 512, 64", with a comma behind a single one.
std::string tuple_items(const std::vector<std::string>& items) {
  return fmt::format("{}{}", fmt::join(items, ", "), items.size() == 1 ? "," : "");
}

std::string sizes_tuple(const Task& task, const Shape& shape) {
  std::vector<std::string> sizes;
  for (const std::string& name : task.shape_parameters) sizes.push_back(expr::to_string(shape.parameters.at(name)));
  return "(" + tuple_items(sizes) + ")";
}

/// Writes the files of one package.
class TorchPackageWriter {
 public:
  explicit TorchPackageWriter(const PackageRequest& request)
      : request_(request),
        call_(torch_call(request.kernels.front())),
        task_(*call_.task),
        kernels_(specialised_of(request.kernels, {request.name, "binding"}, Naming::numbered)),
        launchers_(launchers_of(request)) {
    if (call_.read().empty())
      throw usage_error(fmt::format("{} has no inputs: torch cannot tell the device of a call", task_.name));
  }

  SourceTree write() const {
    SourceTree files;
    for (std::size_t i = 0; i < launchers_.size(); ++i)
      files[fmt::format("kernels/{}.cu", launchers_[i])] = export_cuda(request_.kernels[i], launchers_[i]);
    const std::string package = "torch-ext/" + request_.name;
    files["torch-ext/torch_binding.cpp"] =
        torch_binding_code({request_, call_, launchers_, kernels_, measured_to_choose(request_, kernels_)});
    files[package + "/__init__.py"] = module();
    if (has_reference()) files[package + "/_reference.py"] = request_.torch_reference;
    files[fmt::format("tests/test_{}.py", request_.name)] = tests();
    files["setup.py"] = setup();
    files["pyproject.toml"] =
        filled(embedded::torch_project,
               {{"NAME", request_.name},
                {"SUMMARY", summary_of(task_)},
                {"VERSION", version()},
                {"LICENCE", request_.under_evos_licence ? "license = { text = \"Apache-2.0\" }" : ""}});
    if (request_.under_evos_licence) files["LICENSE"] = std::string(embedded::licence);
    files["README.md"] = read_me();
    return files;
  }

 private:
  bool has_reference() const { return !request_.torch_reference.empty(); }

  /// Another one for other kernels, and a later one for newer: "2026.11.30+e7068ea16e27".
  std::string version() const {
    constexpr std::size_t kDigits = 12;
    std::string text, day;
    for (const ExportRequest& kernel : request_.kernels) {
      text += export_cuda(kernel, request_.name);
      day = std::max(day, kernel.provenance.day);
    }
    std::vector<std::string> numbers = split(day.empty() ? "0" : day, '-');
    // As pip writes them: 2026.1.2.
    for (std::string& number : numbers) number.erase(0, std::min(number.find_first_not_of('0'), number.size() - 1));
    return fmt::format("{}+{}", fmt::join(numbers, "."), hash_hex(text).substr(0, kDigits));
  }

  std::vector<std::string> size_names() const { return task_.shape_parameters; }

  /// "q: torch.float16 [B, H, S, D]", a line for each tensor.
  std::string tensors_doc(std::string_view begin) const {
    std::string doc;
    for (const TorchTensor& tensor : call_.tensors) {
      std::string line = fmt::format("{}{}{}: {} {}", begin, tensor.output ? "returns " : "", tensor.name,
                                     tensor.dtype->python, shape_text(tensor));
      if (!tensor.tensor->scale.empty())
        line += tensor.tensor->zero_point.empty()
                    ? fmt::format(", real value = code * {}", tensor.tensor->scale)
                    : fmt::format(", real value = (code - {}) * {}", tensor.tensor->zero_point, tensor.tensor->scale);
      if (tensor.tensor->inout) line += ", also an input";
      doc += plain_text(line) + "\n";
    }
    return doc;
  }

  std::string shape_text(const TorchTensor& tensor) const {
    std::string shape = python_shape(*tensor.tensor, call_.options);
    shape.front() = '[';
    shape.back() = ']';
    if (shape.ends_with(",]")) shape.erase(shape.size() - 2, 1);
    return shape;
  }

  /// Where sizes come from, as Python.
  std::vector<std::string> size_values() const {
    std::vector<std::string> values;
    for (const TorchSize& size : call_.sizes)
      values.push_back(size.argument ? size.parameter
                                     : fmt::format("{}.shape[{}]", call_.tensors[size.tensor].name, size.dim));
    return values;
  }

  std::string dims_checks() const {
    std::string code;
    std::set<std::size_t> asked;
    for (const TorchSize& size : call_.sizes) {
      if (size.argument || !asked.insert(size.tensor).second) continue;
      const TorchTensor& tensor = call_.tensors[size.tensor];
      code += fmt::format("_expect_dims({0}, \"{0}\", {1})\n", tensor.name, tensor.tensor->dims.size());
    }
    return code;
  }

  std::string expectations() const {
    std::string code;
    for (const TorchTensor* tensor : call_.read())
      code += fmt::format("_expect({0}, \"{0}\", {1}, {2}, {3})\n", tensor->name, tensor->dtype->python,
                          python_shape(*tensor->tensor, call_.options), call_.read().front()->name);
    return code;
  }

  std::string new_outputs() const {
    return joined(call_.outputs(), ", ", [&](const TorchTensor* tensor) {
      return fmt::format("{}.new_empty({}, dtype={})", call_.read().front()->name,
                         python_shape(*tensor->tensor, call_.options), tensor->dtype->python);
    });
  }

  /// The parameters of the operator that writes into given tensors.
  std::string out_parameters() const {
    std::string parameters;
    for (const TorchTensor& tensor : call_.tensors) parameters += (parameters.empty() ? "" : ", ") + tensor.name;
    for (const std::string& size : call_.size_arguments()) parameters += ", " + size;
    return parameters;
  }

  /// Statements that write into `out`.
  std::string out_call() const {
    const std::vector<const TorchTensor*> outputs = call_.outputs();
    std::vector<std::string> written;
    std::string code;
    for (const TorchTensor* output : outputs) written.push_back(outputs.size() == 1 ? "out" : output->name + "_out");
    if (outputs.size() > 1) code += fmt::format("{} = out\n", fmt::join(written, ", "));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i]->tensor->inout)
        code += fmt::format("if {0} is not {1}:\n    {0}.copy_({1})\n", written[i], outputs[i]->name);
    }
    std::vector<std::string> arguments;
    for (const TorchTensor& tensor : call_.tensors)
      if (!tensor.output) arguments.push_back(tensor.name);
    arguments.insert(arguments.end(), written.begin(), written.end());
    for (const std::string& size : call_.size_arguments()) arguments.push_back(size);
    return code + fmt::format("ops.{}_out({})\n", task_.name, fmt::join(arguments, ", "));
  }

  Replacements common() const {
    std::vector<std::string> dtypes;
    for (const TorchTensor* tensor : call_.outputs()) dtypes.emplace_back(tensor->dtype->python);
    const std::string shown =
        joined(size_names(), ", ", [](const std::string& size) { return fmt::format("{0} = {{{0}}}", size); });
    return {{"NAME", request_.name},
            {"TASK", task_.name},
            {"SUMMARY", summary_of(task_)},
            {"CALL", call_arguments(call_)},
            {"SIZES", fmt::format("{}", fmt::join(size_names(), ", "))},
            {"SIZES_ASSIGNED", tuple_items(size_names())},
            {"SIZES_SHOWN", shown},
            {"FIRST", call_.read().front()->name},
            {"BY_NAME", arguments_by_name(call_)},
            {"DTYPES", tuple_items(dtypes)},
            {"READ_COUNT", std::to_string(call_.read().size())},
            {"ALIGNMENT", std::to_string(kTensorAlignment)}};
  }

  /// "sm_90a", each once.
  std::string architectures() const {
    std::set<std::string> quoted;
    for (const ExportRequest& kernel : request_.kernels)
      quoted.insert(fmt::format("\"{}\"", kernel.provenance.device.arch));
    return fmt::format("{}", fmt::join(quoted, ", "));
  }

  /// The timed sizes of all kernels, each once.
  std::string searched() const {
    std::set<std::string> tuples;
    for (const ExportRequest& kernel : request_.kernels)
      for (const Shape& shape : kernel.provenance.target.timed) tuples.insert(sizes_tuple(task_, shape));
    return fmt::format("{}", fmt::join(tuples, ", "));
  }

  std::string module() const {
    const std::string support = python_support(kernels_);
    Replacements values = common();
    const std::string outside =
        filled(has_reference() ? embedded::torch_fallback : embedded::torch_no_fallback, values);
    const std::string backward =
        filled(has_reference() ? embedded::torch_backward : embedded::torch_no_backward, values);
    std::vector<std::string> read;
    for (const TorchTensor* tensor : call_.read()) read.push_back(tensor->name);
    std::string out_doc = "a tensor for the result";
    if (call_.outputs().size() > 1)
      out_doc = fmt::format("a tuple of tensors for the results ({})", names_of(call_.outputs()));
    const std::string expressions = support + expectations() + new_outputs();
    values.insert(values.end(), {{"IMPORTS", expressions.find("math.") == std::string::npos ? "" : "import math"},
                                 {"REFERENCE_IMPORT", has_reference() ? "from ._reference import reference" : ""},
                                 {"ALL", fmt::format("\"OPTIONS\", {}\"{}\", \"searched\", \"supports\"",
                                                     has_reference() ? "\"reference\", " : "", task_.name)},
                                 {"OPTIONS", python_options(call_)},
                                 {"VERSION", version()},
                                 {"ARCHITECTURES", architectures()},
                                 {"SEARCHED", searched()},
                                 {"SUPPORT", support},
                                 {"DIMS", dims_checks()},
                                 {"SIZE_VALUES", tuple_items(size_values())},
                                 {"EXPECTATIONS", expectations()},
                                 {"NEW_OUTPUTS", new_outputs()},
                                 {"OUT_PARAMETERS", out_parameters()},
                                 {"OUT_CALL", out_call()},
                                 {"OUT_DOC", out_doc},
                                 {"READ_TUPLE", tuple_items(read)},
                                 {"DOC", tensors_doc("")},
                                 {"BACKWARD", backward},
                                 {"OUTSIDE", outside}});
    return filled(embedded::torch_module, values);
  }

  std::string limit_of(const TorchTensor& output) const {
    const Target& target = request_.kernels.front().provenance.target;
    const Limits limits =
        limits_of_output(task_, *output.tensor, target.options, task_.objective(target.objective).limits);
    if (limits.exact) return "None";
    const double usual = usual_limits(output.dtype->dtype).relative_l2;
    return fmt::format("{}", limits.relative_l2 > 0 ? limits.relative_l2 : usual);
  }

  /// An input and a dimension that follow from other ones.
  std::string disagreeing() const {
    const std::vector<const TorchTensor*> read = call_.read();
    for (std::size_t number = read.size(); number-- > 0;) {
      for (std::size_t dim = read[number]->tensor->dims.size(); dim-- > 0;) {
        const bool source = std::ranges::any_of(call_.sizes, [&](const TorchSize& size) {
          return !size.argument && &call_.tensors[size.tensor] == read[number] && size.dim == dim;
        });
        if (!source) return fmt::format("({}, {})", number, dim);
      }
    }
    return "None";
  }

  std::string tests() const {
    const std::vector<Shape> shapes = shapes_to_test(kernels_);
    const std::string sizes = joined(shapes, ", ", [&](const Shape& shape) { return sizes_tuple(task_, shape); });
    const std::optional<Shape> outside = shape_outside(kernels_, shapes.back());
    std::vector<std::string> limits;
    std::vector<std::string> scales;
    const std::vector<const TorchTensor*> outputs = call_.outputs();
    for (const TorchTensor* output : outputs) {
      limits.push_back(limit_of(*output));
      const auto scale = std::ranges::find_if(
          outputs, [&](const TorchTensor* other) { return other->tensor->name == output->tensor->scale; });
      scales.push_back(scale == outputs.end() ? "None" : std::to_string(scale - outputs.begin()));
    }
    const auto plain = std::ranges::count_if(call_.tensors, [](const TorchTensor& tensor) { return !tensor.output; });
    Replacements values = common();
    values.insert(values.end(), {{"SIZES_OF_TESTS", sizes},
                                 {"OUTSIDE_SIZES", outside ? sizes_tuple(task_, *outside) : "None"},
                                 {"DRAWS", filled(embedded::torch_draws, {{"DEVICE", "cuda"}})},
                                 {"INPUTS", drawn_inputs(call_)},
                                 {"LIMITS", fmt::format("{}", fmt::join(limits, ", "))},
                                 {"OUTPUT_SCALES", fmt::format("{}", fmt::join(scales, ", "))},
                                 {"PLAIN_INPUTS", std::to_string(plain)},
                                 {"DISAGREEING", disagreeing()}});
    return filled(embedded::torch_tests, values);
  }

  /// nvcc's flags of one kernel.
  std::vector<std::string> flags_of(std::size_t kernel) const {
    std::vector<std::string> flags = split(nvcc_command({&request_.kernels[kernel], 1}), ' ');
    flags.erase(flags.begin());
    return flags;
  }

  std::string setup() const {
    std::string kernels;
    for (std::size_t i = 0; i < launchers_.size(); ++i) {
      std::vector<std::string> flags;
      for (const std::string& flag : flags_of(i)) flags.push_back("\"" + flag + "\"");
      kernels += fmt::format("\"kernels/{}.cu\": [{}],\n", launchers_[i], fmt::join(flags, ", "));
    }
    return filled(embedded::torch_setup, {{"NAME", request_.name}, {"KERNELS", kernels}});
  }

  std::string gradients() const {
    const std::string none = "- There is no backward: it raises an error.";
    if (!has_reference()) return none;
    return fmt::format(
        "{} With `{}.backward_by_torch = True`, or `EVO_BACKWARD=torch`,\n"
        "  torch computes gradients from the reference in its own operations.",
        none, request_.name);
  }

  std::string read_me() const {
    std::string kernels;
    for (std::size_t i = 0; i < launchers_.size(); ++i) {
      const Provenance& p = request_.kernels[i].provenance;
      kernels += fmt::format("- `kernels/{}.cu`: {}, candidate {} of run {}, {:.2f} us {} on {}\n", launchers_[i],
                             plain_text(p.objective), p.candidate, p.run, p.latency_us,
                             kind_named(p.device.kind).modelled ? "modelled" : "measured", p.device.name);
    }
    std::string where_not;
    const ExportRequest& first = request_.kernels.front();
    for (const std::string& sentence : cautions(first.files, task_.name, first.provenance.target.objective))
      where_not += fmt::format("- **Caution.** {}\n", plain_text(sentence));
    Replacements values = common();
    values.insert(values.end(),
                  {{"DOC", tensors_doc("- ")},
                   {"KERNELS", kernels},
                   {"CAUTIONS", where_not},
                   {"GRADIENTS", gradients()},
                   {"LICENCE", request_.under_evos_licence
                                   ? "The kernels are made from evo's templates: Apache License 2.0 (`LICENSE`)."
                                   : "The kernels are under the licence of the sources that they were made from."},
                   {"OUTSIDE_DOC", has_reference() ? "Other sizes are computed in torch's own\n  operations, "
                                                     "slower (`torch-ext/" +
                                                         request_.name + "/_reference.py`)."
                                                   : std::string("Other sizes are refused.")}});
    return filled(embedded::torch_read_me, values);
  }

  const PackageRequest& request_;
  TorchCall call_;
  const Task& task_;
  std::vector<Specialised> kernels_;
  std::vector<std::string> launchers_;
};

}  // namespace

SourceTree torch_package(const PackageRequest& request) {
  require_alike(request.kernels);
  return TorchPackageWriter(request).write();
}

}  // namespace evo
