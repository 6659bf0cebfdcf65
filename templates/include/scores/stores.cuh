// Stores of scores, one or several side by side. The vector forms need an address aligned to their size.
//% let hint = store_cache == 'stream' ? '.cs' : ''

__device__ __forceinline__ void store_score(float* to, float first) {
  asm volatile("st.global${hint}.f32 [%0], %1;" ::"l"(to), "f"(first) : "memory");
}
__device__ __forceinline__ void store_score(half_bits* to, float first) {
  const half_bits bits = (half_bits)f16x2_from_f32(first, 0.0f);
  asm volatile("st.global${hint}.b16 [%0], %1;" ::"l"(to), "h"(bits) : "memory");
}

__device__ __forceinline__ void store_2_scores(float* to, float first, float second) {
  asm volatile("st.global${hint}.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(first), "f"(second) : "memory");
}
__device__ __forceinline__ void store_2_scores(half_bits* to, float first, float second) {
  asm volatile("st.global${hint}.b32 [%0], %1;" ::"l"(to), "r"(f16x2_from_f32(first, second)) : "memory");
}

__device__ __forceinline__ void store_4_scores(float* to, float4 scores) {
  asm volatile("st.global${hint}.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(scores.x), "f"(scores.y),
               "f"(scores.z), "f"(scores.w)
               : "memory");
}
__device__ __forceinline__ void store_4_scores(half_bits* to, float4 scores) {
  asm volatile("st.global${hint}.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(f16x2_from_f32(scores.x, scores.y)),
               "r"(f16x2_from_f32(scores.z, scores.w))
               : "memory");
}

// Four neighbouring scores of a row from key `key` on: at once where a row's length keeps them aligned, else
// one by one.
__device__ __forceinline__ void store_row_part(Score* row, int key, int N, float4 scores) {
  if (N % 4 == 0) {
    if (key < N) store_4_scores(row + key, scores);
    return;
  }
  if (key < N) store_score(row + key, scores.x);
  if (key + 1 < N) store_score(row + key + 1, scores.y);
  if (key + 2 < N) store_score(row + key + 2, scores.z);
  if (key + 3 < N) store_score(row + key + 3, scores.w);
}
