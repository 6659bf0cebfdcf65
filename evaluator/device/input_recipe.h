#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/number.h"
#include "engine/record/record.h"
#include "engine/task/task.h"

namespace evo {

/// A step of a regime that applies to one input.
struct InputStep {
  StepKind step = StepKind::scale;
  double amount = 1;
  double share = 0;
  std::uint64_t stream = 0;  ///< Key of its random numbers; of the step `like`, the other input's.
};

EVO_RECORD(InputStep, step, amount, share, stream);

/// How one input is made. Everything is resolved to numbers: a worker needs no task.
struct InputRecipe {
  std::string name;
  DType dtype = DType::f32;
  std::uint64_t elements = 0;
  std::uint64_t row = 1;     ///< Elements of the last dimension.
  std::uint64_t matrix = 1;  ///< Elements of the last two dimensions.
  std::uint64_t group = 1;   ///< Elements of the first scale's group; without a scale: of the matrix.
  Distribution distribution = Distribution::normal;
  double gain = 1.0;
  std::uint64_t stream = 0;  ///< Key of its random numbers.
  /// The input that receives the scales of this one. Those and zero points are computed, not drawn.
  std::optional<std::uint32_t> scale = std::nullopt;
  bool is_computed = false;                                ///< Holds scales or zero points.
  std::optional<std::uint32_t> zero_point = std::nullopt;  ///< The input that receives the zero points of this one.
  DrawKind draw = DrawKind::automatic;
  std::vector<Number> numbers = {};             ///< Of the draw.
  std::string content = {};                     ///< Of the draw `file`: the file's bytes.
  std::vector<std::uint64_t> dims = {};         ///< Outermost first.
  std::vector<std::uint64_t> scale_dims = {};   ///< As many: groups of scales along each dim.
  std::vector<std::uint64_t> strides = {};      ///< In elements; empty: dense.
  std::optional<DType> widened = std::nullopt;  ///< The elements are stored as these: what a reference works on.
  bool unit_scale = false;                      ///< Its scales are 1, whatever its values are.
  bool is_lesser = false;                       ///< Another tensor of floats has more elements: it may hold scales.
  std::vector<InputStep> steps = {};            ///< Of the regime.
};

EVO_RECORD(InputRecipe, name, dtype, elements, row, matrix, group, distribution, gain, stream, scale, is_computed,
           zero_point, draw, numbers, content, dims, scale_dims, strides, widened, unit_scale, is_lesser, steps);

/// What is drawn for one case, in the order of drawn_tensors: the inputs, then the outputs that are read. Absent
/// tensors have no elements.
struct CaseRecipe {
  std::uint64_t seed = 0;
  std::vector<InputRecipe> inputs;
  bool repeating = false;  ///< Long inputs of floats repeat what they begin with. That is drawn sooner.
  bool perturbed = false;  ///< The last bit of every drawn float of 16 bits or more is random.
};

EVO_RECORD(CaseRecipe, seed, inputs, repeating, perturbed);

/// Resolves one case. Every stream depends on salt, seed, shape, regime and tensor: no two tensors share numbers.
CaseRecipe make_recipe(const Task& task, const Bindings& options, const Shape& shape, const Regime& regime,
                       std::uint64_t seed, std::uint64_t salt);

/// Whether the values are drawn as floats by the regime's distribution.
bool is_drawn_by_regime(const InputRecipe& input);
/// The dtype that the elements of an input are stored as in the end.
DType stored_dtype(const InputRecipe& input);
/// The bytes of one input, with what its strides leave out.
std::uint64_t bytes_of(const InputRecipe& input);
/// The bytes that generate_inputs (inputs.h) would return, all inputs together.
std::uint64_t input_bytes(const CaseRecipe& recipe);

}  // namespace evo
