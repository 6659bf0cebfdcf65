// Attention of a batch of requests whose keys and values lie in pages, by an exported kernel (docs/use.md). The answer
// is compared with sums in double precision. Exit code 0: right; 1: wrong; 77: no GPU, nothing was computed.
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

// As paged_attention.cu has it, which is compiled beside this file.
#ifdef WORKSPACE  // The kernel needs scratch memory.
size_t paged_attention_workspace_bytes(int B, int H, int H_kv, int S_q, int S_kv, int D);
#endif
cudaError_t paged_attention(const void* q, const void* k, const void* v, const float* q_scale, const float* k_scale,
                            const float* v_scale, const int* cu_seqlens_q, const int* page_table,
                            const int* kv_lengths, void* o, int B, int H, int H_kv, int S_q, int S_kv, int D,
#ifdef WORKSPACE
                            void* workspace,
#endif
                            cudaStream_t stream);

namespace {

constexpr int kHeads = 8;
constexpr int kKvHeads = 2;
constexpr int kHeadDim = 128;
constexpr int kPage = 64;
constexpr float kScale = 0.02f;  // of all codes

struct Request {
  int queries;  // tokens of this step
  int keys;     // tokens until now, these among them
};

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA error: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

/// Values on the GPU, of which the host has a copy.
template <typename T>
struct Tensor {
  explicit Tensor(std::vector<T> values) : host(std::move(values)) {
    check(cudaMalloc(&device, host.size() * sizeof(T)));
    check(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() { cudaFree(device); }

  std::vector<T> host;
  T* device = nullptr;
};

using Codes = Tensor<__nv_fp8_e4m3>;

std::vector<__nv_fp8_e4m3> random_codes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<__nv_fp8_e4m3> codes;
  for (std::size_t i = 0; i < count; ++i) codes.emplace_back(normal(random) / kScale);
  return codes;
}

/// A batch as an engine has it: the queries of all requests behind each other, keys and values in pages of a pool.
struct Batch {
  std::vector<Request> requests;
  std::vector<int> cu_seqlens_q = {0};
  std::vector<int> kv_lengths;
  std::vector<int> page_table;  // [request][page]
  int pages = 0;                // of the longest request: columns of the table

  explicit Batch(std::vector<Request> of) : requests(std::move(of)) {
    for (const Request& request : requests) {
      cu_seqlens_q.push_back(cu_seqlens_q.back() + request.queries);
      kv_lengths.push_back(request.keys);
      pages = std::max(pages, (request.keys + kPage - 1) / kPage);
    }
    // The pool has a page for each place of the table; which one, is left to chance.
    for (int page = 0; page < count() * pages; ++page) page_table.push_back(page);
    std::shuffle(page_table.begin(), page_table.end(), std::mt19937(0));
  }

  int count() const { return static_cast<int>(requests.size()); }
};

/// Attention in double precision of the decoded codes: row after row of [query][head][column].
std::vector<double> reference(const Batch& batch, const Codes& q, const Codes& k, const Codes& v) {
  const auto decoded = [](const Codes& codes, std::size_t row, int column) {
    return static_cast<double>(static_cast<float>(codes.host[row * kHeadDim + column])) * kScale;
  };
  std::vector<double> o;
  for (int r = 0; r < batch.count(); ++r) {
    const Request& request = batch.requests[r];
    for (int i = 0; i < request.queries; ++i) {
      for (int head = 0; head < kHeads; ++head) {
        const std::size_t query = static_cast<std::size_t>(batch.cu_seqlens_q[r] + i) * kHeads + head;
        const auto place = [&](int key) {  // Causal: the last query sees the last key.
          const std::size_t page = batch.page_table[r * batch.pages + key / kPage];
          return (page * kPage + key % kPage) * kKvHeads + head / (kHeads / kKvHeads);
        };
        std::vector<double> weights(request.keys - request.queries + i + 1);
        for (std::size_t key = 0; key < weights.size(); ++key)
          for (int d = 0; d < kHeadDim; ++d)
            weights[key] += decoded(q, query, d) * decoded(k, place(key), d) / std::sqrt(kHeadDim);
        const double largest = *std::max_element(weights.begin(), weights.end());
        double sum = 0;
        for (double& weight : weights) sum += weight = std::exp(weight - largest);
        for (int d = 0; d < kHeadDim; ++d) {
          double value = 0;
          for (std::size_t key = 0; key < weights.size(); ++key)
            value += weights[key] / sum * decoded(v, place(key), d);
          o.push_back(value);
        }
      }
    }
  }
  return o;
}

double relative_l2(const std::vector<__nv_bfloat16>& got, const std::vector<double>& want) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    difference += std::pow(static_cast<double>(__bfloat162float(got[i])) - want[i], 2);
    size += want[i] * want[i];
  }
  return std::sqrt(difference / size);
}

}  // namespace

int main() {
  int gpus = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&gpus); status != cudaSuccess) {
    std::printf("skipped: no GPU (%s)\n", cudaGetErrorString(status));
    return 77;
  }
  // A token that is generated, a prompt, and the last part of a longer one.
  const Batch batch({{1, 300}, {70, 70}, {5, 130}});
  const int B = batch.count();
  const int S_q = batch.cu_seqlens_q.back();
  const int S_kv = batch.pages * kPage;

  const Codes q(random_codes(static_cast<std::size_t>(S_q) * kHeads * kHeadDim, 1));
  const std::size_t pool = static_cast<std::size_t>(B) * batch.pages * kPage * kKvHeads * kHeadDim;
  const Codes k_cache(random_codes(pool, 2));
  const Codes v_cache(random_codes(pool, 3));
  const Tensor<float> scales(std::vector<float>(kKvHeads, kScale));
  const Tensor<int> cu_seqlens_q(batch.cu_seqlens_q);
  const Tensor<int> page_table(batch.page_table);
  const Tensor<int> kv_lengths(batch.kv_lengths);
  Tensor<__nv_bfloat16> o(std::vector<__nv_bfloat16>(q.host.size()));

  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
#ifdef WORKSPACE
  void* workspace = nullptr;
  check(cudaMalloc(&workspace, paged_attention_workspace_bytes(B, kHeads, kKvHeads, S_q, S_kv, kHeadDim)));
#endif
  check(paged_attention(q.device, k_cache.device, v_cache.device, scales.device, scales.device, scales.device,
                        cu_seqlens_q.device, page_table.device, kv_lengths.device, o.device, B, kHeads, kKvHeads, S_q,
                        S_kv, kHeadDim,
#ifdef WORKSPACE
                        workspace,
#endif
                        stream));
  check(cudaMemcpyAsync(o.host.data(), o.device, o.host.size() * sizeof(__nv_bfloat16), cudaMemcpyDeviceToHost,
                        stream));
  check(cudaStreamSynchronize(stream));

  const double error = relative_l2(o.host, reference(batch, q, k_cache, v_cache));
  const bool right = error < 0.05;
  std::printf("%d requests, %d queries: relative L2 error %.4f, %s\n", B, S_q, error, right ? "right" : "WRONG");
  return right ? 0 : 1;
}
