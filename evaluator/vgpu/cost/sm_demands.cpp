#include "evaluator/vgpu/cost/sm_demands.h"

#include <algorithm>

#include "engine/device/launch_rules.h"

namespace evo::vgpu {
namespace {

double flops_of(const MmaForm& form) {
  return (form.of_quad_pairs() ? 4 : 1) * 2.0 * form.m * form.n * form.k;
}

double mma_rate(const MmaRates& rates, const MmaForm& form) {
  const bool f16 = form.accumulator == MmaType::f16;
  switch (form.a) {
    case MmaType::e4m3:
    case MmaType::e5m2:
    case MmaType::e3m2:
    case MmaType::e2m3:
    case MmaType::e2m1:
      if (form.packed) return rates.fp4;
      return f16 ? rates.fp8_f16 : rates.fp8;
    case MmaType::tf32:
      return rates.tf32;
    case MmaType::f64:
      return rates.f64;
    case MmaType::s8:
    case MmaType::u8:
      return rates.int8;
    case MmaType::s4:
    case MmaType::u4:
      return 2 * rates.int8;
    default:
      return f16 ? rates.half_f16 : rates.half;
  }
}

Demand per_lane(Pipe pipe, double rate, double latency, Stall cause = Stall::dependence) {
  return {pipe, 32.0 * kSubPartitions / rate, latency, cause};
}

Demand demand_of(const DeviceModel& model, OpClass op_class) {
  const PipeRates& rates = model.rates;
  const Latencies& latencies = model.latencies;
  switch (op_class) {
    case OpClass::integer:
    case OpClass::float_compare:
    case OpClass::fence:
      return per_lane(Pipe::alu, rates.alu, latencies.alu);
    case OpClass::half_compare:
      return per_lane(Pipe::float_fma, rates.half_fma, latencies.alu);
    case OpClass::integer_multiply:
      return per_lane(Pipe::float_fma, rates.integer_multiply, latencies.integer_multiply);
    case OpClass::bit_search:
      return per_lane(Pipe::convert, rates.convert, latencies.convert);
    case OpClass::float_fma:
      return per_lane(Pipe::float_fma, rates.float_fma, latencies.fma);
    case OpClass::half_fma:
      return per_lane(Pipe::float_fma, rates.half_fma, latencies.fma);
    case OpClass::double_fma:
      return per_lane(Pipe::double_fma, rates.double_fma, latencies.double_fma);
    case OpClass::special:
      return per_lane(Pipe::special, rates.special, latencies.special, Stall::special);
    case OpClass::convert:
      return per_lane(Pipe::convert, rates.convert, latencies.convert);
    case OpClass::convert_pack:
      return per_lane(Pipe::convert, rates.convert_pack, latencies.convert_pack);
    case OpClass::convert_to_fp8:
      return per_lane(Pipe::convert, rates.convert_to_fp8, latencies.convert_pack);
    case OpClass::convert_from_fp8:
      return per_lane(Pipe::convert, rates.convert_from_fp8, latencies.convert_pack);
    case OpClass::shuffle:
      return {Pipe::shared_memory, 32.0 / rates.shuffle, latencies.shuffle, Stall::shared_memory};
    case OpClass::vote:
      return per_lane(Pipe::alu, rates.vote, latencies.vote);
    case OpClass::redux:
      return per_lane(Pipe::alu, rates.vote / 2, latencies.redux);
    case OpClass::special_register:
      return {Pipe::issue, 1, latencies.special_register, Stall::dependence};
    case OpClass::mbarrier:
    case OpClass::mbarrier_wait:
      return {Pipe::issue, 1, latencies.mbarrier, Stall::shared_memory};
    case OpClass::cluster_wait:
      return {Pipe::issue, 1, latencies.cluster_barrier, Stall::barrier};
    default:
      return {Pipe::issue, 1, latencies.alu, Stall::dependence};
  }
}

}  // namespace

Demands::Demands(const DeviceModel& model) {
  for (std::size_t i = 0; i < of_.size(); ++i) of_[i] = demand_of(model, static_cast<OpClass>(i));
}

double product_clocks(const MmaRates& rates, const MmaForm& form) {
  return flops_of(form) / std::max(mma_rate(rates, form), 1.0);
}

double tensor_product_clocks(const MmaRates& rates, const MmaForm& form, double flops) {
  const bool four_bits = is_fp8(form.a) && form.k == 64;
  return flops / std::max(four_bits ? rates.fp4 : mma_rate(rates, form), 1.0);
}

}  // namespace evo::vgpu
