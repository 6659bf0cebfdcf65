#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"
#include "tests/templates/shipped.h"

namespace evo::test {

using Bytes = std::vector<std::byte>;

/// Inputs of a case.
struct Operands {
  std::vector<Bytes> bytes;  ///< In the task's order.
  const Task& task;

  std::size_t index_of(std::string_view name) const;

  const Bytes& of(std::string_view name) const { return bytes[index_of(name)]; }
  Bytes& of(std::string_view name) { return bytes[index_of(name)]; }
  /// Real values of an e4m3 input, whose scale groups are equal parts of it.
  std::vector<double> decoded(std::string_view name) const;
};

Operands draw(const Aimed& aimed, const Shape& shape, const Regime& regime, std::uint64_t seed);

/// The task's output by an independent implementation on the host in double precision.
std::vector<double> expected(const Aimed& aimed, const Operands& operands, const Shape& shape);

/// A program loaded on a virtual GPU.
class Loaded {
 public:
  Loaded(const std::string& model, const Program& program);

  /// Runs it once and returns the bytes of the task's first output.
  Bytes run(const Plan& plan, const Operands& operands);

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Module> module_;
};

/// f32 and f16 as real numbers.
std::vector<double> values_of(const Bytes& bytes, DType dtype);

double relative_l2(const std::vector<double>& got, const std::vector<double>& want);

}  // namespace evo::test
