#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device_limits.h"
#include "engine/expression/expression.h"
#include "engine/source/template.h"
#include "engine/task/argument.h"
#include "engine/task/gene.h"
#include "engine/task/task.h"

namespace evo {

struct Constraint {
  Expression condition;
  std::string why;                           ///< Shown when a genome breaks it.
  std::vector<std::string> objectives = {};  ///< It holds for these alone. Empty: for all.
  /// Over options and shape parameters: it holds for targets with a shape that meets this.
  Expression shapes = Expression::constant(true);
};

/// A named value derived from genes and facts, in order: later ones may read earlier ones.
struct Derived {
  std::string name;
  Expression value;
};

struct WorkspaceSpec {
  std::string name;
  Expression when;
  Expression bytes;
  Expression zeroed;  ///< Default false.
};

struct TensorMapSpec {
  std::string name;
  std::string source;  ///< Tensor or workspace.
  std::string dtype;
  Expression when;
  std::vector<Expression> dims;
  std::vector<Expression> strides_bytes;
  std::vector<Expression> box;
  Expression swizzle_bytes;
};

struct LaunchSpec {
  std::string kernel;        ///< As written: "scale", "reduce<${tile}>".
  TextTemplate kernel_name;  ///< The same as a template. It sees what a kernel template sees.
  Expression when;
  std::array<Expression, 3> grid;
  std::array<Expression, 3> block;
  std::array<Expression, 3> cluster;
  Expression dynamic_smem_bytes;
  Expression programmatic;
  std::vector<ArgumentSpec> arguments;  ///< A workspace whose `when` is false is a null pointer.
};

/// One way to implement a task: templates/TASK/FAMILY/family.json and its kernel template.
/// Expressions see the genes, derived values, shape parameters, options, and the device facts of
/// DeviceLimits.
struct Family {
  std::string task;
  std::string name;
  std::string summary;
  Expression legal;  ///< `requires`: over facts, options and shape parameters ("fp8_convert && K % 8 == 0").
  std::vector<Gene> genes;
  std::vector<Derived> derived;
  std::vector<Constraint> constraints;  ///< Over genes, derived values, facts, options and specialised parameters.
  std::vector<WorkspaceSpec> workspaces;
  std::vector<TensorMapSpec> tensor_maps;
  std::vector<ConstantSpec> constants;
  std::vector<LaunchSpec> launches;
  Expression max_registers;  ///< Register cap handed to the compiler; 0: none.
  std::string kernel_path;   ///< "fp8_sdpa/mma_sync/kernel.cu"

  const Gene* gene(std::string_view name) const;
};

/// Reads every family of a task. Throws usage_error that names file, key and reason: unknown keys, unknown
/// names in expressions, genes that read later genes, empty slots.
std::vector<Family> load_families(const SourceTree& tree, const Task& task);

/// Whether nothing that is known (facts, options, a shape) is against the family. Throws usage_error.
bool may_serve(const Family& family, const Bindings& known);

/// The device facts that a family's expressions may read, by name.
Bindings facts_of(const DeviceLimits& limits);

}  // namespace evo
