#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// How the values of the inputs are drawn before quantisation. One is added here and in
/// evaluator/device/regime_values.cpp, which draws it; task.json has it by its name here.
enum class Distribution {
  normal,           ///< N(0, gain^2).
  outliers,         ///< N(0, 1), and one value in 256 multiplied by gain.
  zero_group,       ///< N(0, 1) but the first scale group is all zeros.
  constant_rows,    ///< Every row (last dimension) holds one N(0, gain^2) value.
  sparse,           ///< N(0, gain^2) with nine values in ten zero.
  max_magnitude,    ///< +-gain with random signs: every code of the largest magnitude.
  spikes,           ///< N(0, 1), and in each matrix (last two dims) one random row, every second time the last, times
                    ///< gain.
  first_row,        ///< N(0, 1), and in each matrix the first row times gain: an attention sink.
  log_normal_rows,  ///< N(0, 1), each row times 2^(gain N(0, 1)).
  common_channel,   ///< N(0, 1), and in each matrix one random column (index of the last dim) plus gain.
  uniform,          ///< Evenly from 0 to gain: values of one sign.
  far_rows,  ///< N(0, 1), and of four rows one minus gain, one plus gain, one with its first half minus gain. Only
             ///< one of the regime's tensors is so, in each seed another one.
  // Of integers; floating-point inputs without a draw of their own are N(0, gain^2).
  all_equal,  ///< One random value everywhere.
  extremes,   ///< The least and the greatest value, at random.
  sorted,     ///< Every row ascends.
  ties,  ///< Four values, at random. Drawn floats are powers of two. With a gain above 1, which is the largest value of
         ///< an output's dtype, so are those of the smaller tensors of floats; the others lie halfway between whole
         ///< numbers, one in eight at +-gain.
};

/// Throws usage_error for an unknown name.
Distribution parse_distribution(std::string_view name);

struct Regime {
  std::string name;
  Distribution distribution = Distribution::normal;
  double gain = 1.0;
  std::vector<std::string> tensors = {};     ///< Inputs it applies to; the others are N(0, 1). Empty: all.
  std::vector<std::string> objectives = {};  ///< Those whose candidates it is drawn for. Empty: all.
  /// Scales are 1 and codes the rounded values, as callers pass them who only cast; else the largest value gets the
  /// largest code.
  bool unit_scales = false;
};

}  // namespace evo
