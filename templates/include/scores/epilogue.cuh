// What scores have in common on their way out.
typedef ${out == 'f16' ? 'half_bits' : 'float'} Score;

// Of scales and zero points: there is one for each ${scales}.
__device__ __forceinline__ int scale_index(int head) { return ${scales == 'head' ? 'head' : '0'}; }

__device__ __forceinline__ float score_scale(const float* q_scales, const float* k_scales, int head) {
  const float scale = q_scales[scale_index(head)] * k_scales[scale_index(head)];
  if constexpr (!${scaled}) return scale;
  constexpr float inverse_root = ${D == 64 ? '0.125f' : '0.08838834764831845f'};  // 1 / sqrt(D)
  return scale * inverse_root;
}

#include "include/scores/stores.cuh"

// The CTA's tile of scores in shared memory, row by row: 16 bytes more than a row spread the rows over the banks.
constexpr int staged_row_bytes = tile_n * 4 + 16;

// Successive threads store successive parts of a row.
__device__ __forceinline__ void store_staged(Score* s, shared_address staging, float scale, int first_row,
                                             int first_key, int M, int N) {
  constexpr int parts = tile_n / 4;
#pragma unroll 8  // parts on their way at a time
  for (int i = 0; i < (tile_m * parts + threads - 1) / threads; ++i) {
    const int item = threadIdx.x + i * threads;
    const int row = item / parts;
    const int part = item % parts;
    if (tile_m * parts % threads != 0 && row >= tile_m) break;
    if (first_row + row >= M) break;
    float4 scores = load_shared_f32x4(staging + row * staged_row_bytes + part * 16);
    scores = make_float4(scores.x * scale, scores.y * scale, scores.z * scale, scores.w * scale);
    store_row_part(s + (long long)(first_row + row) * N, first_key + 4 * part, N, scores);
  }
}
