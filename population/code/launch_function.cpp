#include "population/code/launch_function.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "engine/base/demangled.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/device/launch_rules.h"
#include "engine/device/tensor_element.h"
#include "engine/expression/expression_cpp.h"
#include "population/code/alignment.h"
#include "population/code/argument_code.h"
#include "population/code/signature.h"
#include "population/code/text.h"

namespace evo {
namespace {

/// What CUtensorMapDataType calls it, in TensorElement's order.
std::string tensor_map_type(TensorElement element) {
  constexpr std::array<std::string_view, 13> kNames = {"UINT8",    "UINT16",   "UINT32",      "INT32",       "UINT64",
                                                       "INT64",    "FLOAT16",  "FLOAT32",     "FLOAT32_FTZ", "FLOAT64",
                                                       "BFLOAT16", "TFLOAT32", "TFLOAT32_FTZ"};
  return fmt::format("CU_TENSOR_MAP_DATA_TYPE_{}", kNames.at(static_cast<std::size_t>(element)));
}

template <class Named>
const Named* named(const std::vector<Named>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& item) { return item.name == name; });
  return found == all.end() ? nullptr : &*found;
}

/// Writes the launch function of one specialisation.
class LaunchWriter {
 public:
  LaunchWriter(const Specialised& specialised, bool guarded)
      : request_(*specialised.request),
        family_(request_.family),
        specialised_(specialised),
        guarded_(guarded),
        block_(block_of(specialised)),
        written_(written_parameters(request_.task)) {
    for (const std::string& name : request_.task.shape_parameters) runtime_.insert(name);
    derived();
  }

  std::string write() const {
    std::vector<std::string> parameters = signature_of(request_).tensors;
    for (const std::string& size : sizes()) parameters.push_back(size);
    parameters.insert(parameters.end(), {"void* workspace", "cudaStream_t stream"});
    std::string code = acceptance() + workspace_function();
    code += "\n" + wrapped(fmt::format("inline cudaError_t launch{}(", tail_of(specialised_)), parameters, ") {");
    code += fmt::format("  if (!accepted{}({{{}}})) return cudaErrorInvalidValue;\n", tail_of(specialised_),
                        signature_of(request_).shape);
    if (guarded_) code += "  if (const cudaError_t error = has_kernels(); error != cudaSuccess) return error;\n";
    code += derived_ + workspaces();
    for (const TensorMapSpec& map : family_.tensor_maps) code += tensor_map(map);
    for (const ConstantSpec& constant : family_.constants) code += this->constant(constant);
    for (const LaunchSpec& launch : family_.launches) code += this->launch(launch);
    return code + "  return cudaSuccess;\n}\n";
  }

 private:
  enum class Decided { no, yes, at_launch };

  /// Values that follow from the shape alone become constants of the function, by names of their own; unneeded ones
  /// that cannot be written (a division that only a guard protects) are left out.
  void derived() {
    for (const Derived& derived : family_.derived) {
      if (specialised_.scope.contains(derived.name) || !known(derived.value)) continue;
      try {
        const std::string name = "derived_" + derived.name;
        const bool real = is_real_in_cpp(derived.value, specialised_.scope, reals_);
        derived_ += fmt::format("  [[maybe_unused]] const auto {} = {};\n", name,
                                to_cpp(derived.value, specialised_.scope, written_, reals_));
        runtime_.insert(derived.name);
        written_[derived.name] = name;
        if (real) reals_.insert(derived.name);
      } catch (const Error&) {
        continue;
      }
    }
  }

  bool known(const Expression& expression) const {
    for (const std::string& name : expression.names()) {
      if (!specialised_.scope.contains(name) && !runtime_.contains(name)) return false;
    }
    return true;
  }

  std::string cpp(const Expression& expression) const {
    if (!known(expression)) {
      throw usage_error(fmt::format("'{}' of {}/{} cannot be exported: it does not follow from genes, facts and shape",
                                    expression.text(), family_.task, family_.name));
    }
    return to_cpp(expression, specialised_.scope, written_, reals_);
  }

  WriteExpression writer() const {
    return [this](const Expression& expression) { return cpp(expression); };
  }

  Decided decide(const Expression& condition) const {
    const std::optional<Value> value = condition.evaluate_partially(specialised_.scope);
    if (!value) return Decided::at_launch;
    return Expression::constant(*value).evaluate_bool({}) ? Decided::yes : Decided::no;
  }

  std::vector<std::string> sizes() const {
    std::vector<std::string> parameters;
    for (const std::string& name : request_.task.shape_parameters) {
      parameters.push_back("[[maybe_unused]] long long " + host_name(name));
    }
    return parameters;
  }

  std::string listed(std::span<const Expression> expressions) const {
    return joined(expressions, ", ", [&](const Expression& expression) { return cpp(expression); });
  }

  /// "if (S > 8LL) ": what stands before a statement about something that is used under this condition.
  std::string if_used(const Expression& when) const {
    return decide(when) == Decided::yes ? "" : fmt::format("if ({}) ", cpp(when));
  }

  /// Rounded up so that the next workspace is aligned.
  std::string padded_bytes(const WorkspaceSpec& workspace) const {
    return fmt::format("({0} + {1}LL) / {2}LL * {2}LL", cpp(workspace.bytes), kWorkspaceAlignment - 1,
                       kWorkspaceAlignment);
  }

  /// What the launch function and those that answer for it ask first.
  std::string acceptance() const {
    const std::vector<std::string>& names = request_.task.shape_parameters;
    std::string code = fmt::format(
        "\n// Whether a call of this size stays within CUDA's limits and 64 bits.\n"
        "inline bool accepted{}(const long long (&sizes)[{}]) {{\n  bool exact = true;\n",
        tail_of(specialised_), names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
      code += fmt::format("  [[maybe_unused]] const Checked {}(sizes[{}], &exact);\n", host_name(names[i]), i);
    code += derived_;
    for (const std::string& condition : requirements()) code += fmt::format("  if (!({})) return false;\n", condition);
    for (const WorkspaceSpec& workspace : family_.workspaces) code += accept_workspace(workspace);
    for (const TensorMapSpec& map : family_.tensor_maps) code += accept_tensor_map(map);
    for (const ConstantSpec& constant : family_.constants) code += accept_constant(constant);
    for (const LaunchSpec& launch : family_.launches) code += accept_launch(launch);
    return code + "  return exact;\n}\n";
  }

  /// What a call's sizes must meet, as far as it is not known before: what task and family require, and strides that
  /// leave room for the dims after them.
  std::vector<std::string> requirements() const {
    std::vector<std::string> conditions;
    for (const Expression& required : {request_.task.legal, family_.legal}) {
      if (decide(required) != Decided::yes) conditions.push_back(cpp(as_condition(required)));
    }
    for (const TensorPlace& place : present_tensors(request_)) {
      const Tensor& tensor = *place.tensor;
      std::string needed = "1LL";
      for (std::size_t i = tensor.strides.size(); i > 0; --i) {
        const std::string stride = cpp(tensor.strides[i - 1]);
        if (!tensor.strides[i - 1].evaluate_partially(specialised_.scope) || i < tensor.strides.size())
          conditions.push_back(fmt::format("{} >= {}", stride, needed));
        const std::string dim = cpp(tensor.dims[i - 1]);
        needed = stride == "1LL" ? dim : fmt::format("{} * {}", stride, dim);
      }
    }
    return conditions;
  }

  /// A sixteenth of what 64 bits hold: the sum of all is then far from overflowing.
  std::string accept_workspace(const WorkspaceSpec& workspace) const {
    if (decide(workspace.when) == Decided::no) return {};
    return fmt::format("  {}if (!within({{{}}}, 0, 1LL << 59)) return false;  // {}\n", if_used(workspace.when),
                       padded_bytes(workspace), workspace.name);
  }

  /// The limits of cuTensorMapEncodeTiled (CUDA driver API, tensor map object management).
  std::string accept_tensor_map(const TensorMapSpec& map) const {
    if (decide(map.when) == Decided::no) return {};
    std::string conditions =
        fmt::format("within({{{}}}, 1, 4294967296LL) && within({{{}}}, 1, 256)", listed(map.dims), listed(map.box));
    if (!map.strides_bytes.empty())
      conditions += fmt::format(" && within({{{}}}, 1, (1LL << 40) - 1)", listed(map.strides_bytes));
    return fmt::format("  {}if (!({})) return false;  // {}\n", if_used(map.when), conditions, map.name);
  }

  std::string accept_launch(const LaunchSpec& launch) const {
    if (decide(launch.when) == Decided::no) return {};
    std::string conditions = fmt::format(
        "within({{{}}}, 1, {}LL) && within({{{}}}, 1, {}) && within({{{}}}, 1, {}) && within({{{}}}, 0, 2147483647LL)",
        cpp(launch.grid[0]), kMaxGrid[0], listed(std::span(launch.grid).subspan(1)), kMaxGrid[1], listed(launch.block),
        kMaxThreadsPerBlock, cpp(launch.dynamic_smem_bytes));
    std::vector<ArgumentSpec> values;
    std::ranges::copy_if(launch.arguments, std::back_inserter(values),
                         [&](const ArgumentSpec& argument) { return !is_address(argument.text); });
    for (const std::string& condition : argument_conditions(values, specialised_.scope, writer()))
      conditions += " && " + condition;
    return fmt::format("  {}if (!({})) return false;  // {}\n", if_used(launch.when), conditions, symbol(launch));
  }

  std::string symbol(const LaunchSpec& launch) const { return symbol_of(kernel_of(launch, specialised_), block_); }

  /// A tensor that the chosen options leave out fills nothing.
  bool is_filled(const ConstantSpec& constant) const {
    return decide(constant.when) != Decided::no && !is_absent(constant.value.text);
  }

  std::string variable(const ConstantSpec& constant) const {
    return specialised_.name_space + "::" + symbol_of(constant.symbol, block_);
  }

  /// A variable is as large as what fills it.
  std::string accept_constant(const ConstantSpec& constant) const {
    if (!is_filled(constant)) return {};
    std::vector<std::string> conditions;
    if (const Tensor* tensor = request_.task.tensor(constant.value.text)) {
      conditions.push_back(
          fmt::format("within({{{0}}}, sizeof({1}), sizeof({1}))", bytes_of(*tensor), variable(constant)));
    } else {
      conditions = argument_conditions({constant.value}, specialised_.scope, writer());
    }
    if (conditions.empty()) return {};
    return fmt::format("  {}if (!({})) return false;  // {}\n", if_used(constant.when), fmt::join(conditions, " && "),
                       constant.symbol);
  }

  std::string bytes_of(const Tensor& tensor) const {
    std::vector<std::string> factors;
    for (const Expression& dim : tensor.dims) factors.push_back(cpp(dim));
    const int bits = bits_of(dtype_of(tensor, request_.provenance.target.options));
    if (bits < 8) return fmt::format("({} + 1LL) / 2LL", fmt::join(factors, " * "));
    factors.push_back(fmt::format("{}LL", bits / 8));
    return fmt::format("{}", fmt::join(factors, " * "));
  }

  std::string constant(const ConstantSpec& constant) const {
    if (!is_filled(constant)) return {};
    const bool tensor = request_.task.tensor(constant.value.text) != nullptr;
    return fmt::format(
        "  {}{{  // {}\n{}"
        "    const cudaError_t error = fill({}, {}, {}, stream);\n"
        "    if (error != cudaSuccess) return error;\n  }}\n",
        if_used(constant.when), constant.symbol, tensor ? "" : declared_argument(constant.value, 0, writer()),
        variable(constant), tensor ? host_name(constant.value.text) : "&argument_0",
        tensor ? "cudaMemcpyDeviceToDevice" : "cudaMemcpyHostToDevice");
  }

  /// Whether a kernel's argument is the address of something by that name, and no number.
  bool is_address(const std::string& argument) const {
    return request_.task.tensor(argument) || named(family_.workspaces, argument) ||
           named(family_.tensor_maps, argument);
  }

  /// Whether it is a tensor that the chosen options leave out.
  bool is_absent(const std::string& name) const {
    const Tensor* tensor = request_.task.tensor(name);
    return tensor != nullptr && !is_present(*tensor, request_.provenance.target.options);
  }

  /// Sizes of the workspaces, each rounded up so that the next one is aligned; the last element is their sum.
  std::string workspace_function() const {
    const std::string type = "Workspaces" + tail_of(specialised_);
    std::string code = fmt::format("\n// Bytes of each workspace, and of all together.\nstruct {} {{\n", type);
    for (const WorkspaceSpec& workspace : family_.workspaces) {
      code += fmt::format("  long long {} = 0;\n", host_name(workspace.name));
    }
    code += "  long long all = 0;\n};\n\n";
    code += wrapped(fmt::format("inline {} workspaces{}(", type, tail_of(specialised_)), sizes(), ") {");
    code += fmt::format("  {} bytes;\n", type);
    code += derived_;
    for (const WorkspaceSpec& workspace : family_.workspaces) {
      if (decide(workspace.when) == Decided::no) continue;
      code += fmt::format("  {}bytes.{} = {};\n", if_used(workspace.when), host_name(workspace.name),
                          padded_bytes(workspace));
      code += fmt::format("  bytes.all += bytes.{};\n", host_name(workspace.name));
    }
    return code + "  return bytes;\n}\n";
  }

  std::string workspaces() const {
    std::vector<const WorkspaceSpec*> used;
    for (const WorkspaceSpec& workspace : family_.workspaces) {
      if (decide(workspace.when) != Decided::no) used.push_back(&workspace);
    }
    if (used.empty()) return "  (void)workspace;\n" + null_workspaces();
    std::string code = fmt::format("  const Workspaces{0} bytes = workspaces{0}({1});\n", tail_of(specialised_),
                                   signature_of(request_).shape);
    code += fmt::format("  if (bytes.all > 0 && !aligned({{workspace}}, {})) return cudaErrorInvalidValue;\n",
                        kWorkspaceAlignment);
    code += "  char* next = static_cast<char*>(workspace);\n";
    for (const WorkspaceSpec* workspace : used) {
      code += fmt::format("  void* {0} = bytes.{0} > 0 ? next : nullptr;\n  next += bytes.{0};\n",
                          host_name(workspace->name));
      code += zeroing(*workspace);
    }
    return code + null_workspaces();
  }

  /// Kernels take the pointer of a workspace that their genes do not use as a null pointer.
  std::string null_workspaces() const {
    std::string code;
    for (const WorkspaceSpec& workspace : family_.workspaces) {
      if (decide(workspace.when) == Decided::no) {
        code += fmt::format("  [[maybe_unused]] void* {} = nullptr;\n", host_name(workspace.name));
      }
    }
    return code;
  }

  std::string zeroing(const WorkspaceSpec& workspace) const {
    const Decided zeroed = decide(workspace.zeroed);
    if (zeroed == Decided::no) return {};
    const std::string condition = zeroed == Decided::yes ? "" : fmt::format(" && {}", cpp(workspace.zeroed));
    return fmt::format(
        "  if (bytes.{0} > 0{1}) {{\n"
        "    const cudaError_t error = cudaMemsetAsync({0}, 0, static_cast<size_t>(bytes.{0}), stream);\n"
        "    if (error != cudaSuccess) return error;\n  }}\n",
        host_name(workspace.name), condition);
  }

  std::string tensor_map(const TensorMapSpec& map) const {
    if (decide(map.when) == Decided::no) return {};
    const DType dtype = dtype_of(Tensor{.name = map.name, .dtype = map.dtype}, request_.provenance.target.options);
    // A map of one dimension has no stride; C++ has no empty array.
    const std::string strides = map.strides_bytes.empty() ? "0" : listed(map.strides_bytes);
    return fmt::format(
        "  CUtensorMap {0} = {{}};\n"
        "  {1}{{\n"
        "    const long long dims[] = {{{2}}};\n"
        "    const long long strides_bytes[] = {{{3}}};\n"
        "    const long long box[] = {{{4}}};\n"
        "    const cudaError_t error = encode(&{0}, {5}, {6}, {7}, dims, strides_bytes, box, {8});\n"
        "    if (error != cudaSuccess) return error;\n"
        "  }}\n",
        host_name(map.name), if_used(map.when), listed(map.dims), strides, listed(map.box),
        tensor_map_type(tensor_element_of(dtype)), map.dims.size(),
        is_absent(map.source) ? "nullptr" : host_name(map.source), cpp(map.swizzle_bytes));
  }

  /// The most dynamic shared memory of all launches of a kernel; nothing when it depends on the call.
  std::optional<std::int64_t> most_shared_memory(const std::string& kernel) const {
    std::int64_t most = 0;
    for (const LaunchSpec& launch : family_.launches) {
      if (decide(launch.when) == Decided::no || kernel_of(launch, specialised_) != kernel) continue;
      const std::optional<Value> bytes = launch.dynamic_smem_bytes.evaluate_partially(specialised_.scope);
      if (!bytes) return std::nullopt;
      most = std::max(most, Expression::constant(*bytes).evaluate_int({}));
    }
    return most;
  }

  /// The statements that allow a launch its shared memory.
  std::string allowance(const LaunchSpec& launch) const {
    const std::optional<std::int64_t> most = most_shared_memory(kernel_of(launch, specialised_));
    if (most && *most == 0) return {};
    return fmt::format(
        "    const cudaError_t allowed = {}(kernel, {});\n"
        "    if (allowed != cudaSuccess) return allowed;\n",
        most ? "allow_shared_memory" : "allow_more_shared_memory",
        most ? std::to_string(*most) : "launch.dynamic_smem_bytes");
  }

  std::string launch(const LaunchSpec& launch) const {
    if (decide(launch.when) == Decided::no) return {};
    std::string code = fmt::format("  {}{{  // {}\n", if_used(launch.when), symbol(launch));
    code += fmt::format("    const Launch launch = {{{{{}}},  // grid\n", listed(launch.grid));
    code += fmt::format("                           {{{}}},  // block\n", listed(launch.block));
    code += fmt::format("                           {{{}}},  // cluster\n", listed(launch.cluster));
    code += fmt::format("                           {},  // dynamic shared memory\n", cpp(launch.dynamic_smem_bytes));
    code += fmt::format("                           {},  // programmatic dependent launch\n", cpp(launch.programmatic));
    code += fmt::format("                           {}}};  // cooperative launch\n",
                        request_.cooperative.contains(bare_kernel_name(kernel_of(launch, specialised_))));
    code += arguments(launch);
    code += fmt::format("    const void* const kernel = {};\n", address_of(kernel_of(launch, specialised_), block_));
    code += allowance(launch);
    code += "    const cudaError_t error = start(kernel, launch, arguments, stream);\n";
    return code + "    if (error != cudaSuccess) return error;\n  }\n";
  }

  std::string arguments(const LaunchSpec& launch) const {
    std::string scalars;
    std::vector<std::string> addresses;
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      const ArgumentSpec& argument = launch.arguments[i];
      if (is_address(argument.text) && !is_absent(argument.text)) {
        addresses.push_back("(void*)&" + host_name(argument.text));
        continue;
      }
      scalars += is_absent(argument.text) ? declared_null(i) : declared_argument(argument, i, writer());
      addresses.push_back(fmt::format("&argument_{}", i));
    }
    return scalars + wrapped("    void* arguments[] = {", addresses, "};");
  }

  const ExportRequest& request_;
  const Family& family_;
  const Specialised& specialised_;
  bool guarded_;
  KernelBlock block_;
  std::set<std::string> runtime_;  // names that the function's code may use: shape parameters, derived values
  expr::WrittenNames written_;     // as it has them, where that is another name
  expr::RealNames reals_;          // those that are real numbers
  std::string derived_;
};

}  // namespace

std::string launch_function(const Specialised& specialised, bool guarded) {
  return LaunchWriter(specialised, guarded).write();
}

}  // namespace evo
