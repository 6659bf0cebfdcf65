// evo verify FILE.cu --task TASK --launch LAUNCH: somebody else's CUDA file, as robust-kbench takes it or with a
// launcher in C, on the virtual GPU.
#include "cli/rivals/foreign_kernel.h"

#include "engine/source/host_code.h"
#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

const char* const kSoftmaxExtension = R"cuda(#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

namespace {
constexpr int kThreads = 256;
static cudaStream_t stream;

// A softmax of each row.
template <int threads>
__global__ void softmax_rows(const float* __restrict__ x, float* __restrict__ y, int columns) {
  __shared__ float shared[threads];
  const float* row = x + (size_t)blockIdx.x * columns;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += threads) largest = fmaxf(largest, row[i]);
  shared[threadIdx.x] = largest;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  largest = shared[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += threads) sum += expf(row[i] - largest);
  shared[threadIdx.x] = sum;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < columns; i += threads) y[(size_t)blockIdx.x * columns + i] = expf(row[i] - largest) / shared[0];
}
}  // namespace

// The host's "{" side of the __global__ kernel.
torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  softmax_rows<kThreads><<<x.numel() / x.size(-1), kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(-1));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, "softmax");
}
)cuda";

const char* const kLaunch = "softmax_rows<256><<<B * N, 256>>>(x, y, M)";

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.rfind(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

Outcome verified(const Bench& bench, const std::string& text, const std::string& launch = kLaunch) {
  bench.write("softmax.cu", text);
  return bench.evo({"verify", "softmax.cu", "--task", "softmax", "--option", "dtype=f32", "--shapes", "small",
                    "--device", "vgpu", "--templates", kTemplates, "--launch", launch});
}

void check_wrong(const Bench& bench, const std::string& text, const std::string& why) {
  const Outcome outcome = verified(bench, text);
  CHECK(outcome.code == 1);
  CHECK(holds(outcome.out, why));
}

}  // namespace

TEST_CASE("a file with a binding for torch is judged by its kernels, and planted faults are rejected with the reason",
          "[long]") {
  const Bench bench;
  const Outcome right = verified(bench, kSoftmaxExtension);
  CHECK(right.code == 0);
  CHECK(holds(right.out, "right, worst relative error "));
  // The maximum is not subtracted: only a regime with large values shows it.
  check_wrong(bench, changed(kSoftmaxExtension, "fmaxf(largest, row[i])", "fmaxf(largest, 0.0f)"),
              "wrong: wrong_answer: shape ");
  check_wrong(bench, changed(kSoftmaxExtension, "i < columns; i += threads) y", "i < columns - 1; i += threads) y"),
              "wrong: wrong_answer: shape ");
  // A race that changes no answer: no judge that compares answers sees it.
  check_wrong(bench,
              changed(kSoftmaxExtension, "float sum = 0.0f;",
                      "__shared__ volatile float last; last = row[threadIdx.x % columns]; float sum = last * 0.0f;"),
              "race: kernel (anonymous namespace)::softmax_rows<256>, softmax.cu:");
  check_wrong(bench, changed(kSoftmaxExtension, "i < columns; i += threads) sum", "i <= columns; i += threads) sum"),
              "behind the end of 'x'");
}

TEST_CASE("a file with a launcher in C is judged, too, and its answers as JSON") {
  const ToyBench bench;
  bench.write("sum.cu",
              "#include <cuda_runtime.h>\n__global__ void sum(const float* a, const float* b, float* c, int n) {\n"
              "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) c[i] = a[i] + b[i];\n}\n"
              "extern \"C\" int launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {\n"
              "  sum<<<(n + 63) / 64, 64, 0, stream>>>(a, b, c, n);\n  return cudaGetLastError();\n}\n");
  const std::vector<std::string> verify = {
      "verify",   "sum.cu", "--task",   "toy",
      "--device", "vgpu",   "--launch", "sum<<<(N + 63) / 64, dim3(64, 1)>>>(a, b, c, N)"};
  const nlohmann::json found = bench.json(verify);
  CHECK(found["right"] == true);
  CHECK(found["found"]["verdict"] == "valid");
}

TEST_CASE("a launch that cannot be read is refused in one line") {
  const Bench bench;
  const auto refused = [&](const std::string& launch, const std::string& why) {
    check_refused(verified(bench, kSoftmaxExtension, launch), 2, {"--launch '" + launch + "'", why});
  };
  refused("softmax_rows", "there is no <<< >>>");
  refused("softmax_rows<256><<<B * N>>>(x, y, M)", "there are not two or three things in <<< >>>");
  refused("softmax_rows<256><<<B * N, 256>>>", "there are no (ARGUMENTS)");
  refused("softmax_rows<256><<<B * Q, 256>>>(x, y, M)", "reads unknown name 'Q'");
  refused("softmax_rows<256><<<(1, 2, 3, 4), 256>>>(x, y, M)", "is not one to three sizes");
  check_refused(bench.evo({"verify", "1", "--launch", kLaunch}), 2, {"--launch go with --task"});
}

TEST_CASE("of a file the device code is left, with its numbers of lines") {
  using evo::device_code;
  const std::string code = device_code(kSoftmaxExtension);
  CHECK(std::ranges::count(code, '\n') == std::ranges::count(std::string(kSoftmaxExtension), '\n'));
  INFO(code);
  for (const char* host : {"torch", "cuda_runtime", "<vector>", "cudaStream_t", "forward(", "PYBIND11"})
    CHECK_FALSE(holds(code, host));
  CHECK(holds(code, "constexpr int kThreads = 256;"));
  CHECK(holds(code, "shared[0];\n}\n}\n"));
  CHECK(device_code("#include <cuda_fp16.h>\nstruct S { int a; };\n__device__ float f() { return '}'; }\n") ==
        "#include <cuda_fp16.h>\nstruct S { int a; };\n__device__ float f() { return '}'; }\n");
  CHECK(device_code("int main() {\n  k<<<1, 1>>>(1'000);\n}\nextern \"C\" {\nint a;\nstd::vector<int> b;\n}\n") ==
        "\n\n\nextern \"C\" {\nint a;\n\n}\n");
}
