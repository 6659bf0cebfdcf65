// FlashAttention-3 for one type of elements and one width of heads (ELEMENT, WIDTH), as functions that
// flash_attention3.py calls. Compiled in a checkout of flash-attention with the files that instantiate its kernels.
// What its own entry, mha_fwd in hopper/flash_api.cpp, does for a plain call of flash_attn_func stands here without
// torch.
#include <cutlass/numeric_types.h>

#include <cstdio>
#include <type_traits>

#include "flash.h"
#include "flash_fwd_combine_launch_template.h"
#include "heuristics.h"
#include "tile_size.h"

namespace evo {

using Element = ELEMENT;
constexpr int kWidth = WIDTH;
constexpr bool kCoded = std::is_same_v<Element, cutlass::float_e4m3_t>;
using Output = std::conditional_t<kCoded, cutlass::bfloat16_t, Element>;

struct Attention {
  Flash_fwd_params params;
  int counters = 0;  // Integers that are zero when the kernel begins.
};

inline bool failed(cudaError_t status, int line, char* error, std::size_t size) {
  if (status != cudaSuccess)
    std::snprintf(error, size, "CUDA error (flash_attention3.cu:%d): %s", line, cudaGetErrorString(status));
  return status != cudaSuccess;
}

inline int rounded(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Integers that a causal call wants: the counter of tiles behind two vectors of a batch's size.
inline int counters_of(int batch) {
  return 2 * rounded(batch, 4) + 1;
}

inline bool sees_less(int length, int causal) {
  return causal != 0 && length > 1;  // One query sees all of its one key.
}

// In mha_fwd this is a kernel, too: torch's zero_.
__global__ void zero(int* counters, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) counters[i] = 0;
}

}  // namespace evo

using namespace evo;  // nvcc's own names clash where namespaces without a name meet those of CUTLASS.

extern "C" {

const char* flash_attention3_version() {
  return VERSION;
}

int counters_needed(int batch) {
  return counters_of(batch);
}

// Into how many parts its heuristic would split the keys (num_splits=0); 1 where there is no device.
int splits_of(int batch, int heads, int length, int causal) {
  int device = 0, processors = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return 1;
  const bool is_causal = sees_less(length, causal);
  const auto tile = tile_size_fwd_sm90(kWidth, kWidth, is_causal, false, sizeof(Element));
  const int rows = (length + std::get<0>(tile) - 1) / std::get<0>(tile);
  const int columns = (length + std::get<1>(tile) - 1) / std::get<1>(tile);
  return num_splits_heuristic(batch * heads * rows, processors, columns, rows,
                              length * 2 * kWidth * static_cast<int>(sizeof(Element)), is_causal, 128);
}

// For q, k, v and o of (batch, heads, length, WIDTH), dense; o is bf16 where the elements are e4m3. `scales`: those of
// q, k and v, with the strides of batches and heads, of e4m3 alone. `row_sums`: batch * heads * length floats;
// `counters`: as many as counters_needed; `parts`: splits * batch * heads * length * (WIDTH + 1) floats where splits is
// more than 1. Null, with `error`, where the device is not the kernel's.
void* make_attention(void* q, void* k, void* v, void* o, float* row_sums, int* counters, float* parts,
                     float* const* scales, long long scale_batch_stride, long long scale_head_stride, int batch,
                     int heads, int length, float softmax_scale, int causal, int splits, char* error,
                     std::size_t size) {
  int device = 0, major = 0, minor = 0, processors = 0;
  if (failed(cudaGetDevice(&device), __LINE__, error, size) ||
      failed(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), __LINE__, error, size) ||
      failed(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), __LINE__, error, size) ||
      failed(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), __LINE__, error, size))
    return nullptr;
  if (major != 9) {
    std::snprintf(error, size, "it is built for compute capability 9.0, not %d.%d", major, minor);
    return nullptr;
  }
  auto* made = new Attention{};
  Flash_fwd_params& params = made->params;
  params.is_bf16 = std::is_same_v<Element, cutlass::bfloat16_t>;
  params.is_e4m3 = kCoded;
  params.q_ptr = q;
  params.k_ptr = k;
  params.v_ptr = v;
  params.o_ptr = o;
  const long long head_stride = static_cast<long long>(length) * kWidth;
  params.q_row_stride = params.k_row_stride = params.v_row_stride = params.o_row_stride = kWidth;
  params.q_head_stride = params.k_head_stride = params.v_head_stride = params.o_head_stride = head_stride;
  params.q_batch_stride = params.k_batch_stride = params.v_batch_stride = params.o_batch_stride = heads * head_stride;
  params.v_dim_stride = 1;
  params.softmax_lse_ptr = row_sums;
  params.b = params.b_k = batch;
  params.h = params.h_k = heads;
  params.seqlen_q = params.seqlen_k = length;
  params.seqlen_q_rounded = params.seqlen_k_rounded = rounded(length, 128);
  params.total_q = params.total_k = batch * length;
  params.d = params.d_rounded = params.dv = params.dv_rounded = kWidth;
  params.scale_softmax = softmax_scale;
  params.p_dropout = params.rp_dropout = 1.0F;
  params.p_dropout_in_uint8_t = 255;
  params.is_causal = sees_less(length, causal);
  params.window_size_left = length - 1;
  params.window_size_right = params.is_causal ? 0 : length - 1;
  params.arch = major * 10 + minor;
  params.num_sm = processors;
  params.page_size = 1;
  params.num_splits = splits;
  params.pack_gqa = splits > 1;  // Else not: there are as many heads of keys as of queries.
  params.varlen_sort_batches = true;
  params.head_swizzle = params.is_causal;
  if (params.is_causal && splits == 1) {
    // Tiles are handed out by a counter.
    made->counters = counters_of(batch);
    params.tile_count_semaphore_offset = made->counters - 1;
    params.tile_count_semaphore = counters + params.tile_count_semaphore_offset;
  }
  if (splits > 1) {
    const long long rows = static_cast<long long>(batch) * heads * length;
    params.oaccum_ptr = parts;
    params.oaccum_split_stride = rows * kWidth;
    params.oaccum_batch_stride = params.o_batch_stride;
    params.oaccum_head_stride = params.o_head_stride;
    params.oaccum_row_stride = kWidth;
    params.softmax_lseaccum_ptr = parts + splits * rows * kWidth;
    params.lseaccum_split_stride = rows;
    params.lseaccum_batch_stride = static_cast<long long>(heads) * length;
    params.lseaccum_head_stride = length;
  }
  if (kCoded) {
    params.q_descale_ptr = scales[0];
    params.k_descale_ptr = scales[1];
    params.v_descale_ptr = scales[2];
    params.q_descale_batch_stride = params.k_descale_batch_stride = params.v_descale_batch_stride = scale_batch_stride;
    params.q_descale_head_stride = params.k_descale_head_stride = params.v_descale_head_stride = scale_head_stride;
  }
  return made;
}

// Launches it. 0: done.
int run_attention(void* attention, int* counters, void* stream, char* error, std::size_t size) {
  Attention& made = *static_cast<Attention*>(attention);
  const auto on = static_cast<cudaStream_t>(stream);
  if (made.counters > 0) {
    zero<<<1, 128, 0, on>>>(counters, made.counters);
    if (failed(cudaGetLastError(), __LINE__, error, size)) return 1;
  }
  if (made.params.num_splits == 1) {
    run_mha_fwd_<90, Element, kWidth, kWidth, false, false, false, false>(made.params, on);
  } else {
    run_mha_fwd_<90, Element, kWidth, kWidth, true, false, false, true>(made.params, on);
    // The sum's kernel begins while the parts' one ends (programmatic dependent launch).
    run_mha_fwd_combine_<Output, float, kWidth == 64 ? 64 : 128>(made.params, on, true);
  }
  return failed(cudaGetLastError(), __LINE__, error, size) ? 1 : 0;
}

}  // extern "C"
