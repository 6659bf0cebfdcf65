#include "ten_lines.h"

#include <stdexcept>

namespace evo::testing {
namespace {

constexpr const char* kKernels = R"cuda(#define radius 2
extern "C" __global__ void convolution(float* out, const float* in, const float* filter, float scale,
                                       unsigned long long width, int height) {
  const int y = blockIdx.y * block_size_y + threadIdx.y;
  for (int t = 0; t < tile; ++t) {
    const int x = (blockIdx.x * tile + t) * block_size_x + threadIdx.x;
    if (x >= (int)width || y >= height) continue;
    float sum = 0;
    for (int j = 0; j <= 2 * radius; ++j)
      for (int i = 0; i <= 2 * radius; ++i)
        sum += in[(y + j) * ((int)width + 2 * radius) + x + i] * filter[j * (2 * radius + 1) + i];
    out[y * (int)width + x] = scale * sum;
  }
}

extern "C" __global__ void convolution_naive(float* out, const float* in, const float* filter, float scale,
                                             unsigned long long width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= (int)width || y >= height) return;
  double sum = 0;
  for (int j = 0; j <= 2 * radius; ++j)
    for (int i = 0; i <= 2 * radius; ++i)
      sum += (double)in[(y + j) * ((int)width + 2 * radius) + x + i] * filter[j * (2 * radius + 1) + i];
  out[y * (int)width + x] = (float)(scale * sum);
}
)cuda";

constexpr const char* kConstantKernel = R"cuda(#define radius 2
__constant__ float d_filter[(2 * radius + 1) * (2 * radius + 1)];
__constant__ float d_scale;
extern "C" __global__ void convolution(float* out, const float* in, int width, int height) {
  const int y = blockIdx.y * block_size_y + threadIdx.y;
  for (int t = 0; t < tile; ++t) {
    const int x = (blockIdx.x * tile + t) * block_size_x + threadIdx.x;
    if (x >= width || y >= height) continue;
    float sum = 0;
    for (int j = 0; j <= 2 * radius; ++j)
      for (int i = 0; i <= 2 * radius; ++i)
        sum += in[(y + j) * (width + 2 * radius) + x + i] * d_filter[j * (2 * radius + 1) + i];
    out[y * width + x] = d_scale * sum;
  }
}

)cuda";

constexpr const char* kForm = R"json({
  "kernel": "conv.cu:convolution",
  "genes": {"block_size_x": [16, 32], "block_size_y": [1, 2, 64], "tile": [1, 2]},
  "restrict": ["block_size_x * block_size_y <= 512", "block_size_y == 1 or tile == 1"],
  "shapes": [{"H": 6, "W": 40}, {"H": 5, "W": 33}],
  "arguments": ["out=out float[H, W]", "image=float[H + 4, W + 4]", "filter=float[5, 5]", "float:0.5", "size_t:W", "H"],
  "grid": ["ceil_div(W, block_size_x * tile)", "ceil_div(H, block_size_y)"],
  "block": ["block_size_x", "block_size_y"],
  "reference": "conv.cu:convolution_naive",
  "reference_grid": ["ceil_div(W, 32)", "H"], "reference_block": [32]
})json";

}  // namespace

void write_constant_convolution(const Bench& bench, const nlohmann::ordered_json& changes) {
  nlohmann::ordered_json constant = {{"arguments", {"out=out float[H, W]", "image=float[H + 4, W + 4]", "W", "H"}},
                                     {"constants", {{"d_filter", "filter=float[5, 5]"}, {"d_scale", "float:0.5"}}},
                                     {"reference_arguments", {"out", "image", "filter", "float:0.5", "size_t:W", "H"}},
                                     {"reference_constants", nlohmann::ordered_json::object()}};
  constant.update(changes);
  write_convolution(bench, constant);
  bench.write("conv.cu", kConstantKernel + std::string(kKernels).substr(std::string(kKernels).find(
                                               "extern \"C\" __global__ void convolution_naive")));
}

std::string changed_convolution(const std::string& from, const std::string& to) {
  std::string text = kKernels;
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("not in the kernel: " + from);
  return text.replace(at, from.size(), to);
}

void write_convolution(const Bench& bench, const nlohmann::ordered_json& changes) {
  auto form = nlohmann::ordered_json::parse(kForm);
  for (const auto& [key, value] : changes.items()) {
    if (value.is_null())
      form.erase(key);
    else
      form[key] = value;
  }
  bench.write("conv.cu", kKernels);
  bench.write("conv.json", form.dump(2));
}

}  // namespace evo::testing
