#include "cli/check/null_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "cli/check/tried_reference.h"
#include "cli/check/usual_cases.h"
#include "engine/base/error.h"
#include "engine/task/calibration.h"
#include "engine/task/candidate.h"
#include "engine/task/limits.h"
#include "evaluator/hosts/compile_worker.h"
#include "evaluator/judge/comparison.h"
#include "evaluator/judge/oracle.h"
#include "evaluator/judge/output_comparison.h"
#include "evaluator/numbers/elements.h"

namespace evo::cli {
namespace {

/// A limit is at least this many times the error of honest arithmetic, and below that of the answer by this factor.
constexpr double kHonestFactor = 2, kNullFactor = 0.9;

constexpr std::string_view kSinglePrecision = "#define double float\n";

/// A float that is rounded to TYPE whenever it is stored.
constexpr std::string_view kNarrowSums = R"cuda(#include <cuda_bf16.h>
#include <cuda_fp16.h>
struct evo_narrow {
  float value;
  __device__ evo_narrow() {}
  template <class T>
  __device__ evo_narrow(T number) : value(EVO_NARROW) {}
  __device__ operator float() const { return value; }
  template <class T>
  __device__ evo_narrow& operator+=(T number) { return *this = evo_narrow(value + (float)number); }
  template <class T>
  __device__ evo_narrow& operator-=(T number) { return *this = evo_narrow(value - (float)number); }
  template <class T>
  __device__ evo_narrow& operator*=(T number) { return *this = evo_narrow(value * (float)number); }
  template <class T>
  __device__ evo_narrow& operator/=(T number) { return *this = evo_narrow(value / (float)number); }
};
#define double evo_narrow
)cuda";

constexpr std::string_view kTruncation = R"cuda(#define rint trunc
#define rintf truncf
#define nearbyint trunc
#define nearbyintf truncf
#define round trunc
#define roundf truncf
#define lrint(x) ((long)trunc(x))
#define lrintf(x) ((long)truncf(x))
#define __float2int_rn __float2int_rz
#define __double2int_rn __double2int_rz
#define __float2bfloat16(x) __float2bfloat16_rz(x)
#define __float2bfloat16_rn(x) __float2bfloat16_rz(x)
#define __double2bfloat16(x) __float2bfloat16_rz((float)(x))
#define __float2half(x) __float2half_rz(x)
#define __float2half_rn(x) __float2half_rz(x)
#define __double2half(x) __float2half_rz((float)(x))
)cuda";

constexpr std::string_view kHalfAway = R"cuda(#define rint round
#define rintf roundf
#define nearbyint round
#define nearbyintf roundf
#define lrint(x) ((long)round(x))
#define lrintf(x) ((long)roundf(x))
#define __float2int_rn(x) ((int)roundf(x))
#define __double2int_rn(x) ((int)round(x))
)cuda";

/// The source with further lines behind its last #include, so that no header sees them.
std::string with_lines(std::string source, std::string_view lines) {
  std::size_t at = 0;
  for (std::size_t line = 0; line < source.size();) {
    const std::size_t end = std::min(source.find('\n', line), source.size() - 1) + 1;
    const std::size_t text = source.find_first_not_of(" \t", line);
    if (text < end && source.compare(text, 8, "#include") == 0) at = end;
    line = end;
  }
  return source.insert(at, fmt::format("\n{}", lines));
}

/// Whether the lines would change the source: one of the names that they define is in it.
bool touches(const std::string& source, std::string_view lines) {
  for (std::size_t at = lines.find("#define "); at != std::string_view::npos; at = lines.find("#define ", at + 1)) {
    const std::string_view rest = lines.substr(at + 8);
    if (source.find(rest.substr(0, rest.find_first_of(" ("))) != std::string::npos) return true;
  }
  return false;
}

/// Half a step beside 1: what rounding to the dtype may err by.
double rounding_of(DType dtype) {
  const int digits = info_of(dtype).digits;
  return digits == 0 ? 0 : std::ldexp(1.0, -digits);
}

class NullAnswerTrial {
 public:
  NullAnswerTrial(const SourceTree& tree, const Task& task, const Target& target, const DeviceInfo& device)
      : task_(task),
        target_(target),
        device_(device),
        calibration_(load_calibration(tree, task)),
        program_(reference_program(tree, task, target.options, specialisations_of(task, target).front(),
                                   {target.timed.front()})),
        reference_(program_, task, target.options, device, compiler_),
        cases_(cases_of_regimes(task, target)) {
    right_.resize(cases_.size());
  }

  std::vector<NullAnswer> passing() {
    std::vector<NullAnswer> found;
    std::size_t number = 0;
    for (const Tensor& tensor : task_.outputs) {
      if (!is_present(tensor, target_.options)) continue;
      const std::size_t output = number++;
      if (limits_of(tensor, 0).follow_emulation() || cases_.empty()) continue;
      if (tensor.inout) try_answer(tensor, output, "the input unchanged", unchanged(output), found);
      try_answer(tensor, output, "zeros", zeros(output), found);
      if (row_of(task_, target_.options, cases_.front().shape, output) > 1)
        try_answer(tensor, output, "each row's mean", means(output), found);
      try_answer(tensor, output, "the answer to other inputs", other(output), found);
      try_edited(tensor, output, fmt::format("sums in {}", narrower(tensor)), narrow_sums(tensor), found);
      try_edited(tensor, output, "truncation", std::string(kTruncation), found);
      try_edited(tensor, output, "halves rounded away from zero", std::string(kHalfAway), found);
    }
    return found;
  }

 private:
  /// The numbers of one output in a case.
  using Answer = std::function<std::vector<double>(std::size_t number)>;

  Limits limits_of(const Tensor& tensor, std::size_t number) const {
    const Limits objective = evo::limits_of(task_, target_);
    return limits_of_output(task_, tensor, target_.options,
                            limits_for(calibration_, task_, objective, cases_.at(number).regime.name));
  }

  const Expected& right(std::size_t number) {
    if (!right_.at(number)) right_[number] = reference_.answer(cases_[number]);
    return *right_[number];
  }

  static std::vector<double> numbers_of(DType dtype, const std::vector<std::byte>& bytes) {
    std::vector<double> numbers(bytes.size() / size_of(dtype));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = as_double(load_at(dtype, bytes.data(), i));
    return numbers;
  }

  Answer unchanged(std::size_t output) {
    return [this, output](std::size_t number) {
      const ExpectedOutput& want = right(number).at(output);
      return numbers_of(want.dtype, want.before.empty() ? want.bytes : want.before);
    };
  }

  Answer zeros(std::size_t output) {
    return [this, output](std::size_t number) {
      const ExpectedOutput& want = right(number).at(output);
      return std::vector<double>(want.bytes.size() / size_of(want.dtype), 0.0);
    };
  }

  Answer means(std::size_t output) {
    return [this, output](std::size_t number) {
      const ExpectedOutput& want = right(number).at(output);
      std::vector<double> numbers = numbers_of(want.dtype, want.bytes);
      const std::size_t row = row_of(task_, target_.options, cases_[number].shape, output);
      for (std::size_t begin = 0; begin + row <= numbers.size(); begin += row) {
        double sum = 0;
        for (std::size_t i = begin; i < begin + row; ++i) sum += numbers[i];
        std::fill_n(numbers.begin() + static_cast<std::ptrdiff_t>(begin), row, sum / static_cast<double>(row));
      }
      return numbers;
    };
  }

  Answer other(std::size_t output) {
    return [this, output](std::size_t number) {
      const Case like_it = more_cases(task_, target_, cases_[number], kUsualSalt, 1).front();
      const Expected answer = reference_.answer(like_it);
      return numbers_of(answer.at(output).dtype, answer.at(output).bytes);
    };
  }

  Answer of(TriedReference& edited, std::size_t output) {
    return [this, &edited, output](std::size_t number) {
      const Expected answer = edited.answer(cases_[number]);
      return numbers_of(answer.at(output).dtype, answer.at(output).bytes);
    };
  }

  std::string_view narrower(const Tensor& tensor) const {
    return dtype_of(tensor, target_.options) == DType::bf16 ? "bf16" : "f16";
  }

  std::string narrow_sums(const Tensor& tensor) const {
    std::string lines(kNarrowSums);
    const std::string_view mark = "EVO_NARROW";
    return lines.replace(lines.find(mark), mark.size(),
                         narrower(tensor) == "bf16" ? "__bfloat162float(__float2bfloat16((float)number))"
                                                    : "__half2float(__float2half((float)number))");
  }

  /// Null where the lines change nothing, or where the reference does not compile with them.
  TriedReference* edited(const std::string& lines) {
    if (!touches(program_.source, lines) || has_doubles()) return nullptr;
    const auto known = edited_.find(lines);
    if (known != edited_.end()) return known->second.get();
    Program program = program_;
    program.source = with_lines(program.source, lines);
    std::unique_ptr<TriedReference>& made = edited_[lines];
    try {
      made = std::make_unique<TriedReference>(std::move(program), task_, target_.options, device_, compiler_);
    } catch (const Error& error) {
      if (error.fault() != Fault::usage) throw;
    }
    return made.get();
  }

  /// Whether memory holds doubles, so that the word means what it says.
  bool has_doubles() const {
    const auto is_double = [&](const PlanTensor& tensor) { return tensor.dtype == DType::f64; };
    return std::ranges::any_of(program_.plans.begin()->second.tensors, is_double);
  }

  void try_edited(const Tensor& tensor, std::size_t output, const std::string& what, const std::string& lines,
                  std::vector<NullAnswer>& found) {
    if (TriedReference* const reference = edited(lines))
      try_answer(tensor, output, what, of(*reference, output), found);
  }

  /// As the output holds the numbers; those of an output with a scale are values.
  Difference difference_of(const Tensor& tensor, std::size_t output, std::size_t number,
                           const std::vector<double>& numbers) {
    const ExpectedOutput& want = right(number).at(output);
    const DType dtype = tensor.scale.empty() ? dtype_of(tensor, target_.options) : want.dtype;
    const DTypeInfo& info = info_of(dtype);
    std::vector<std::byte> got(bytes_for(dtype, numbers.size()));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double whole = std::clamp(std::nearbyint(numbers[i]), info.least, info.greatest);
      store_at(dtype, got.data(), i, info.floating ? Number(numbers[i]) : as_whole(dtype, whole));
    }
    Limits limits = limits_of(tensor, number);
    return compare(dtype, got, want, limits, row_of(task_, target_.options, cases_[number].shape, output));
  }

  static Number as_whole(DType dtype, double value) {
    if (dtype == DType::u64) return static_cast<std::uint64_t>(std::min(value, 0x1.fffffffffffffp63));
    return static_cast<std::int64_t>(std::min(value, 0x1.fffffffffffffp62));
  }

  void try_answer(const Tensor& tensor, std::size_t output, const std::string& what, const Answer& answer,
                  std::vector<NullAnswer>& found) {
    double largest = 0;
    bool is_right = true;
    try {
      for (std::size_t number = 0; number < cases_.size(); ++number) {
        const Difference difference = difference_of(tensor, output, number, answer(number));
        Limits limits = limits_of(tensor, number);
        if (number > 0) limits = grown(limits, right(number).at(output), right(0).at(output));
        if (miss_of(difference, limits)) return;
        largest = std::max(largest, difference.relative_l2);
        is_right = is_right && difference.max_abs == 0;
      }
    } catch (const Error& error) {
      if (error.fault() != Fault::usage) throw;
      return;  // An edited reference that fails gives no answer.
    }
    // An edit that changes no answer is a reference of another wording, unless it is known to.
    const bool rounds_ties = what.starts_with("halves");
    if (is_right && !rounds_ties) return;
    if (is_right && is_floating(dtype_of(tensor, target_.options))) return;
    found.push_back({tensor.name, what, largest, limit_against(tensor, output, largest)});
  }

  std::optional<double> limit_against(const Tensor& tensor, std::size_t output, double null) {
    const DType dtype = dtype_of(tensor, target_.options);
    if (!is_floating(dtype) || null == 0) return std::nullopt;
    double honest = rounding_of(dtype);
    if (TriedReference* const single = edited(std::string(kSinglePrecision))) {
      const Answer answer = of(*single, output);
      for (std::size_t number = 0; number < cases_.size(); ++number)
        honest = std::max(honest, difference_of(tensor, output, number, answer(number)).relative_l2);
    }
    const double limit = std::max(kHonestFactor * honest, std::sqrt(honest * null));
    if (limit > kNullFactor * null) return std::nullopt;
    const double unit = std::pow(10.0, std::floor(std::log10(limit)) - 1);
    return std::ceil(limit / unit) * unit;
  }

  const Task& task_;
  const Target& target_;
  const DeviceInfo& device_;
  std::optional<Calibration> calibration_;
  Program program_;
  CompileWorker compiler_{device_};
  TriedReference reference_;
  std::vector<Case> cases_;  ///< One of each regime, the usual one first.
  std::vector<std::optional<Expected>> right_;
  std::map<std::string, std::unique_ptr<TriedReference>> edited_;
};

}  // namespace

std::vector<NullAnswer> passing_null_answers(const SourceTree& tree, const Task& task, const Target& target,
                                             const DeviceInfo& device) {
  if (has_torch_reference(task)) return {};
  return NullAnswerTrial(tree, task, target, device).passing();
}

std::string null_answer_text(const NullAnswer& null) {
  const std::string passes = null.what + " would pass";
  if (null.limit)
    return fmt::format("{} (relative L2 {:.3g}): a relative_l2 of {:g} rejects it", passes, null.relative_l2,
                       *null.limit);
  if (null.relative_l2 == 0) return passes + ": no draw tells it apart (one has ties where scales are powers of two)";
  return fmt::format("{} (relative L2 {:.3g}): no limit tells it from honest arithmetic", passes, null.relative_l2);
}

}  // namespace evo::cli
