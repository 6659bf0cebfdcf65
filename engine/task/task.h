#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/source_tree.h"
#include "engine/expression/expression.h"
#include "engine/record/record.h"
#include "engine/task/argument.h"
#include "engine/task/draw.h"
#include "engine/task/error_limits.h"
#include "engine/task/regime.h"

namespace evo {

/// An input or output of a task. Row-major, outermost dimension first.
struct Tensor {
  std::string name;
  std::string dtype = "f32";             ///< A dtype's name, or the name of an option whose value is one ("out").
  std::vector<Expression> dims = {};     ///< Over shape parameters and options.
  std::vector<Expression> strides = {};  ///< In elements, one for each dim, outermost first. Empty: densely packed.
  /// The tensor that holds the scales, one for each index of its dims; each of them divides the elements along a dim of
  /// this tensor into equal groups (1: all; the dim itself: each), the last of which may be shorter. Missing dims
  /// are 1. Real value = (code - zero point) * scale. Empty: not quantised.
  std::string scale = {};
  std::string zero_point = {};  ///< An integer tensor of the scales' dims. Empty: 0; u8 inputs then simulate e4m3.
  Draw draw = {};               ///< Inputs, and outputs that are read.
  Expression when = {};         ///< Over options. Where it is false the tensor is absent: kernels get a null pointer.
  bool inout = false;           ///< An output that holds drawn values before the call.
  std::vector<OutputLimits> limits = {};  ///< Outputs: the first that applies replaces the task's.
  /// Outputs of integers: each is an index into a row of this input, and one that names an equal element is right, too.
  std::string any_of_equal = {};
};

/// A choice that belongs to the contract, not to the search (the output's dtype, a causal mask).
struct Option {
  std::string name;
  std::vector<Value> values;  ///< The first is the default.
};

/// The largest value of a shape parameter.
inline constexpr std::int64_t kMaxParameter = std::numeric_limits<std::int32_t>::max();

/// One problem size: a value for each shape parameter.
struct Shape {
  std::string name;
  Bindings parameters;
};

EVO_RECORD(Shape, name, parameters);

/// Candidates of a run are always ranked by latency; objectives differ in the errors that they allow.
struct Objective {
  std::string name;
  Limits limits;              ///< The task's, or tighter.
  std::string formerly = {};  ///< The name that it had once: it still means this one.
};

/// A target may name two: with "fast@faithful" candidates keep the limits of fast, in the regimes of faithful, too.
/// This is the first.
std::string_view limiting_objective(std::string_view objective);

/// Which shapes are timed and validated by default on one kind of device.
struct ShapeSets {
  std::vector<std::string> timed;
  std::vector<std::string> validated;
  /// A self-test times these if many reference outputs of `timed` cost too much. Empty: it times `timed`.
  std::vector<std::string> self_test = {};
};

/// The contract of a computation: templates/NAME/task.json.
struct Task {
  std::string name;
  std::string summary;
  std::vector<std::string> shape_parameters;
  Expression legal;  ///< `requires`: the shapes that there are kernels for. Over shape parameters and options.
  std::vector<std::string> specialised;  ///< Shape parameters that are compile-time constants of a kernel.
  std::vector<Option> options;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Shape> shapes;
  std::map<std::string, ShapeSets> shape_sets;  ///< By the name of a device kind.
  std::vector<Regime> regimes;
  int seeds = 3;
  bool deterministic = true;          ///< Whether runs on the same input must agree bit for bit.
  Limits limits;                      ///< Of outputs of floating types without limits of their own.
  bool has_limits = false;            ///< The task gives them; else they follow from the dtype (limits.h).
  std::vector<Objective> objectives;  ///< The first is the default: "latency" unless the task names others.
  Expression flops;                   ///< Arithmetic of one call; floor of its time with the device's peak for `math`.
  Expression bytes;                   ///< Compulsory memory traffic of one call; without has_bytes: every tensor once.
  bool has_bytes = false;
  std::string math;       ///< The dtype whose peak rate bounds it ("e4m3").
  std::string reference;  ///< Path of reference.cu in the tree.
  std::string reference_kernel;
  Expression reference_grid[3];
  Expression reference_block[3];
  std::vector<ArgumentSpec> reference_arguments;
  std::vector<ConstantSpec> reference_constants;
  Expression reference_smem;     ///< Dynamic shared memory, in bytes.
  bool typed_reference = false;  ///< The reference's outputs have the candidates' dtypes, not f32 in their place.
  bool self_consistent =
      false;         ///< The reference is a genome of the task's own: it shows that the others agree with it.
  SourceTree files;  ///< Of draws `@FILE`, by their path within the task's folder.
  /// xxh3 over every file under the task's folder but its mutants, stages, cautions and reference.py, and over the
  /// borrowed_files(), without their probes: rows of another hash never compete.
  std::string hash;

  const Shape& shape(std::string_view name) const;  ///< Throws usage_error listing the names there are.
  /// At least the first regime. `objective` is one, or two as limiting_objective() has it; for the next one, too.
  std::vector<Regime> regimes_of(std::string_view objective) const;
  const Objective& objective(std::string_view name) const;  ///< Throws usage_error listing the names there are.
  /// The same one or two by the names that they have now.
  std::string objective_name(std::string_view objective) const;
  const Tensor* tensor(std::string_view name) const;  ///< Null when there is none.
  Bindings default_options() const;
  bool is_specialised(std::string_view parameter) const;
};

/// The names of the tasks in the tree, sorted.
std::vector<std::string> task_names(const SourceTree& tree);

/// Whether a file of the tree belongs to a task's mutants: such files say nothing about what is computed or how, so
/// they are no part of the task's hash.
bool is_mutant_file(std::string_view path, std::string_view task);

/// Whether a file is one of the task's folder that its hash covers. Mutants, stages, cautions and reference.py are not.
bool is_hashed(std::string_view path, std::string_view task);

/// What the task computes as a function of torch: TASK/reference.py. Where there is a reference.cu it is for exported
/// packages alone: it judges no kernel, and is no part of the task's hash.
std::string torch_reference_path(std::string_view task);
/// Whether reference.py is the task's reference: no kernel computes it.
bool has_torch_reference(const Task& task);

/// Where kernels of an objective do not keep what its limits promise, one sentence each, for people:
/// TASK/cautions.json,
/// `{"faithful": ["..."]}`. None without the file or for another objective. The task's hash does not cover it. Throws
/// usage_error that names the file, the key and the reason.
std::vector<std::string> cautions(const SourceTree& tree, std::string_view task, std::string_view objective);

/// The files of include/ and of other tasks' families that a task's files name, and those that these name.
std::set<std::string> borrowed_files(const SourceTree& tree, std::string_view task);

/// Reads NAME/task.json. Throws usage_error that names the file, the key and the reason.
Task load_task(const SourceTree& tree, std::string_view name);

/// Reads the key `constants` of an object, {SYMBOL: VALUE} or {SYMBOL: {"value": VALUE, "when": CONDITION}}, whose
/// expressions see `scope`; none without the key. Throws usage_error for a tensor that cannot fill a variable: only
/// dense inputs can.
std::vector<ConstantSpec> read_constants(const JsonPlace& object, const Task& task, const NameScope& scope);

/// A step of load_task: the scales and zero points that tensors name are there, and their dims fit at every shape and
/// choice of options. Throws usage_error.
void check_scales(const Task& task, const JsonPlace& root);

/// The names of shapes, tensors, objectives, ...
template <typename Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& each : all) names.push_back(each.name);
  return names;
}

/// Parses "1,8,512,64" or "B=1,H=8,S=512,D=64" or a shape's name. Values must be positive.
Shape parse_shape(const Task& task, std::string_view text);

/// The dtype of a tensor under the chosen options.
DType dtype_of(const Tensor& tensor, const Bindings& options);

/// What is drawn for a case, in this order: the inputs, then the outputs that are read.
std::vector<Tensor> drawn_tensors(const Task& task);

/// Whether its elements are whole numbers, as indices, lengths and codes are: what a kernel does may depend on them.
bool draws_whole_numbers(const Tensor& tensor, DType dtype);

/// Whether the tensor is there under these options.
bool is_present(const Tensor& tensor, const Bindings& options);

/// The strides of a tensor for a shape and options, in elements; those of a dense one, too.
std::vector<std::int64_t> strides_of(const Tensor& tensor, const Bindings& known);
/// From the first element to the last one, in elements: what the tensor takes in memory.
std::int64_t extent_of(const Tensor& tensor, const Bindings& known);

/// Whether there are kernels for a shape.
bool is_legal(const Task& task, const Bindings& options, const Shape& shape);

/// The dims and the number of elements of a tensor for a shape and options.
std::vector<std::int64_t> dims_of(const Tensor& tensor, const Bindings& known);
std::int64_t element_count(const Tensor& tensor, const Bindings& known);

}  // namespace evo
