#pragma once

#include <string>

#include "bench.h"

namespace evo::testing {

/// Writes conv.cu and conv.json: a convolution with six legal genomes, as `evo tune` takes it. Keys of `changes`
/// replace those of the file; a null leaves one out.
void write_convolution(const Bench& bench, const nlohmann::ordered_json& changes = nlohmann::ordered_json::object());
/// A bench that has them.
struct ConvolutionBench : Bench {
  ConvolutionBench() { write_convolution(*this); }
};

/// The kernel's file with `from` replaced by `to`.
std::string changed_convolution(const std::string& from, const std::string& to);

/// The same where the kernel reads the filter and the scale in __constant__ d_filter and d_scale, as Kernel Tuner fills
/// them.
void write_constant_convolution(const Bench& bench,
                                const nlohmann::ordered_json& changes = nlohmann::ordered_json::object());

}  // namespace evo::testing
