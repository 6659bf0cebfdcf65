#include "tests/templates/oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "engine/task/scope.h"
#include "evaluator/device/inputs.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::test {
namespace {

// OCP 8-bit formats: E4M3 has bias 7, no infinity; exponent field 0 holds multiples of 2^-9.
double decode_e4m3(std::byte code) {
  const int bits = std::to_integer<int>(code);
  const int exponent = bits >> 3 & 15;
  const double magnitude = exponent ? std::ldexp(8 + (bits & 7), exponent - 10) : std::ldexp(bits & 7, -9);
  return bits & 128 ? -magnitude : magnitude;
}

std::int64_t parameter(const Shape& shape, const char* name) {
  return std::get<std::int64_t>(shape.parameters.at(name));
}

bool chosen(const Bindings& options, const char* name, const char* value) {
  return options.at(name) == Value(std::string(value));
}

/// The values as [head][key][d], whichever way they are laid out.
std::vector<double> row_major_values(const Operands& operands, const Bindings& options, std::int64_t heads,
                                     std::int64_t S, std::int64_t D) {
  const std::vector<double> v = operands.decoded("v");
  if (chosen(options, "v_layout", "row_major")) return v;
  const std::int64_t padded = (S + 15) / 16 * 16;
  REQUIRE(static_cast<std::int64_t>(v.size()) == heads * D * padded);
  std::vector<double> rows(heads * S * D);
  for (std::int64_t i = 0; i < heads * S * D; ++i) {
    const std::int64_t head = i / (S * D), key = i / D % S, d = i % D;
    rows[i] = v[(head * D + d) * padded + key];
  }
  return rows;
}

std::vector<double> attention(const Operands& operands, const Bindings& options, const Shape& shape) {
  const auto heads = parameter(shape, "B") * parameter(shape, "H");
  const auto S = parameter(shape, "S");
  const auto D = parameter(shape, "D");
  const auto q = operands.decoded("q"), k = operands.decoded("k"), v = row_major_values(operands, options, heads, S, D);
  const bool causal = chosen(options, "mask", "causal");
  std::vector<double> o(q.size(), 0.0);
  std::vector<double> weights(S);
  for (std::int64_t row = 0; row < heads * S; ++row) {
    const auto head = row / S * S;
    const std::int64_t keys = causal ? row - head + 1 : S;
    double largest = -INFINITY;
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < D; ++d) score += q[row * D + d] * k[(head + j) * D + d];
      weights[j] = score / std::sqrt(static_cast<double>(D));
      largest = std::max(largest, weights[j]);
    }
    double sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) sum += weights[j] = std::exp(weights[j] - largest);
    for (std::int64_t j = 0; j < keys; ++j) {
      for (std::int64_t d = 0; d < D; ++d) o[row * D + d] += weights[j] / sum * v[(head + j) * D + d];
    }
  }
  return o;
}

std::vector<std::int32_t> integers_of(const Bytes& bytes) {
  std::vector<std::int32_t> values(bytes.size() / sizeof(std::int32_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Codes of fp8_attention as [batch][position][head] rows, whichever way they are laid out, times their scales.
class EngineRows {
 public:
  EngineRows(const Operands& operands, const char* name, const Bindings& known)
      : codes_(operands.of(name)),
        bhsd_(chosen(known, "layout", "bhsd")),
        strides_(strides_of(operands.task.inputs[operands.index_of(name)], known)) {
    const Bytes& scales = operands.of(std::string(name) + "_scale");
    scales_.resize(scales.size() / sizeof(float));
    std::memcpy(scales_.data(), scales.data(), scales.size());
  }

  double at(std::int64_t batch, std::int64_t position, std::int64_t head, std::int64_t d) const {
    return decode_e4m3(
        codes_[batch * strides_[0] + position * strides_[bhsd_ ? 2 : 1] + head * strides_[bhsd_ ? 1 : 2] + d]);
  }
  double scale(std::size_t index) const { return scales_.at(index); }

 private:
  const Bytes& codes_;
  bool bhsd_;
  std::vector<std::int64_t> strides_;
  std::vector<float> scales_;
};

std::vector<double> engine_attention(const Operands& operands, const Bindings& options, const Shape& shape) {
  const Bindings known = joined(options, shape.parameters);
  const auto B = parameter(shape, "B"), H = parameter(shape, "H"), H_kv = parameter(shape, "H_kv");
  const auto S_q = parameter(shape, "S_q"), S_kv = parameter(shape, "S_kv"), D = parameter(shape, "D");
  const EngineRows q(operands, "q", known), k(operands, "k", known), v(operands, "v", known);
  const bool causal = std::get<bool>(options.at("causal")), together = std::get<bool>(options.at("cu_seqlens"));
  const auto page = std::get<std::int64_t>(options.at("page")), window = std::get<std::int64_t>(options.at("window"));
  const auto asked = std::get<double>(options.at("softmax_scale"));
  const double softmax_scale = asked == 0 ? 1 / std::sqrt(static_cast<double>(D)) : asked;
  const std::vector<std::int32_t> q_starts = integers_of(operands.of("cu_seqlens_q"));
  const std::vector<std::int32_t> kv_starts = integers_of(operands.of("cu_seqlens_kv"));
  const std::vector<std::int32_t> table = integers_of(operands.of("page_table"));
  const std::vector<std::int32_t> lengths = integers_of(operands.of("kv_lengths"));

  std::vector<double> o((together ? 1 : B) * H * S_q * D, 0.0);
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t first_query = together ? q_starts[b] : 0, first_key = together && page == 0 ? kv_starts[b] : 0;
    const std::int64_t queries = together ? q_starts[b + 1] - first_query : S_q;
    const std::int64_t keys = page > 0 ? lengths[b] : together ? kv_starts[b + 1] - first_key : S_kv;
    for (std::int64_t h = 0; h < H; ++h) {
      const std::int64_t kv_head = h * H_kv / H;
      const auto kv_at = [&](const EngineRows& rows, std::int64_t key, std::int64_t d) {
        if (page == 0) return rows.at(together ? 0 : b, first_key + key, kv_head, d);
        return rows.at(table[b * ((S_kv + page - 1) / page) + key / page], key % page, kv_head, d);
      };
      const std::int64_t own = b * H_kv + kv_head;
      const std::int64_t kv_scale = together || page > 0 ? kv_head : own;
      const double scale = q.scale(together ? kv_head : own) * k.scale(kv_scale) * softmax_scale;
      for (std::int64_t i = 0; i < queries; ++i) {
        std::vector<double> weights(keys, 0.0);
        double largest = -INFINITY;
        const auto sees = [&](std::int64_t j) {
          const std::int64_t back = i + keys - queries - j;  // 0: its own position
          return !causal || (back >= 0 && (window == 0 || back < window));
        };
        for (std::int64_t j = 0; j < keys; ++j) {
          if (!sees(j)) continue;
          for (std::int64_t d = 0; d < D; ++d)
            weights[j] += q.at(together ? 0 : b, first_query + i, h, d) * kv_at(k, j, d) * scale;
          largest = std::max(largest, weights[j]);
        }
        double sum = 0;
        for (std::int64_t j = 0; j < keys; ++j) sum += weights[j] = sees(j) ? std::exp(weights[j] - largest) : 0;
        const std::int64_t position = first_query + i, batch = together ? 0 : b;
        const std::int64_t row =
            chosen(options, "layout", "bhsd") ? (batch * H + h) * S_q + position : (batch * S_q + position) * H + h;
        for (std::int64_t j = 0; j < keys && sum > 0; ++j) {
          for (std::int64_t d = 0; d < D; ++d) o[row * D + d] += weights[j] / sum * kv_at(v, j, d) * v.scale(kv_scale);
        }
      }
    }
  }
  return o;
}

std::vector<double> score_product(const Operands& operands, const Shape& shape, bool scaled) {
  const auto heads = parameter(shape, "B") * parameter(shape, "H");
  const auto M = parameter(shape, "M"), N = parameter(shape, "N"), D = parameter(shape, "D");
  const auto q = operands.decoded("q"), k = operands.decoded("k");
  std::vector<double> s;
  for (std::int64_t row = 0; row < heads * M; ++row) {
    for (std::int64_t j = 0; j < N; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < D; ++d) score += q[row * D + d] * k[(row / M * N + j) * D + d];
      s.push_back(scaled ? score / std::sqrt(static_cast<double>(D)) : score);
    }
  }
  return s;
}

float f16_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  if (exponent == 31) return NAN;  // nothing here is that large
  const float magnitude = exponent ? std::ldexp(1024.0f + mantissa, exponent - 25) : std::ldexp(1.0f * mantissa, -24);
  return bits & 0x8000 ? -magnitude : magnitude;
}

}  // namespace

std::size_t Operands::index_of(std::string_view name) const {
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    if (task.inputs[i].name == name) return i;
  }
  throw std::logic_error("no such input");
}

std::vector<double> Operands::decoded(std::string_view name) const {
  const Bytes& codes = of(name);
  const Bytes& scales = of(std::string(name) + "_scale");
  const std::size_t group = codes.size() / (scales.size() / sizeof(float));
  std::vector<double> values(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    float scale;
    std::memcpy(&scale, scales.data() + i / group * sizeof scale, sizeof scale);
    values[i] = decode_e4m3(codes[i]) * scale;
  }
  return values;
}

Operands draw(const Aimed& aimed, const Shape& shape, const Regime& regime, std::uint64_t seed) {
  return {generate_inputs(make_recipe(aimed.task(), aimed.target().options, shape, regime, seed, 17)), aimed.task()};
}

std::vector<double> expected(const Aimed& aimed, const Operands& operands, const Shape& shape) {
  if (aimed.task().name == "fp8_sdpa") return attention(operands, aimed.target().options, shape);
  if (aimed.task().name == "fp8_attention") return engine_attention(operands, aimed.target().options, shape);
  return score_product(operands, shape, std::get<bool>(aimed.target().options.at("scaled")));
}

Loaded::Loaded(const std::string& model, const Program& program) : device_(vgpu::make_device(model)) {
  auto compiled = nvrtc_or_skip().compile(program.source, device_->info().arch, program.max_registers);
  if (const auto* failure = std::get_if<Failure>(&compiled)) FAIL(failure->reason);
  std::optional<Failure> failure;
  module_ = device_->load(std::get<Binary>(compiled), failure);
  if (failure) FAIL(failure->reason);
}

Bytes Loaded::run(const Plan& plan, const Operands& operands) {
  Buffers buffers;
  std::size_t next_input = 0;
  for (const PlanTensor& tensor : plan.tensors) {
    buffers.tensors.push_back(device_->allocate(tensor.bytes, tensor.name));
    if (tensor.output) {
      device_->fill(buffers.tensors.back(), std::byte{0xff}, tensor.bytes);
    } else {
      device_->upload(buffers.tensors.back(), operands.bytes[next_input++]);
    }
  }
  for (const Workspace& workspace : plan.workspaces) {
    buffers.workspaces.push_back(device_->allocate(workspace.bytes, workspace.name));
  }
  if (const auto failure = device_->run(*module_, plan, buffers)) FAIL(failure->reason);
  const auto first = std::ranges::find_if(plan.tensors, [](const PlanTensor& tensor) { return tensor.output; });
  Bytes output(first->bytes);
  device_->download(output, buffers.tensors[first - plan.tensors.begin()]);
  for (const auto* addresses : {&buffers.tensors, &buffers.workspaces}) {
    for (const DeviceAddress address : *addresses) device_->free(address);
  }
  return output;
}

std::vector<double> values_of(const Bytes& bytes, DType dtype) {
  REQUIRE((dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16));
  std::vector<double> values;
  for (std::size_t at = 0; at < bytes.size(); at += size_of(dtype)) {
    if (dtype == DType::f32) {
      float value;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      values.push_back(value);
    } else {
      std::uint16_t bits;
      std::memcpy(&bits, bytes.data() + at, sizeof bits);
      values.push_back(dtype == DType::f16 ? f16_value(bits) : std::bit_cast<float>(std::uint32_t{bits} << 16));
    }
  }
  return values;
}

double relative_l2(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  double difference = 0;
  double reference = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    reference += want[i] * want[i];
  }
  return reference == 0 ? (difference == 0 ? 0 : INFINITY) : std::sqrt(difference / reference);
}

}  // namespace evo::test
