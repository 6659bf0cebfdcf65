// Reductions over the threads of a row. A CTA of the including file has cta_rows rows side by side, each of
// row_threads threads: a part of a warp, or several warps, which exchange partial results through shared
// memory. `reduction` says how: 'serial' (each thread combines all of them) or 'shuffle' (each warp does).
struct Sum {
  typedef float Value;
  static __device__ __forceinline__ float of(float a, float b) { return a + b; }
};

struct Maximum {
  typedef float Value;
  static __device__ __forceinline__ float of(float a, float b) { return fmaxf(a, b); }
};

__device__ __forceinline__ float from_lane(float value, int lane_mask) {
  return __shfl_xor_sync(0xffffffffu, value, lane_mask);
}

__device__ __forceinline__ float2 from_lane(float2 value, int lane_mask) {
  return make_float2(from_lane(value.x, lane_mask), from_lane(value.y, lane_mask));
}

// Over groups of `lanes` neighbouring lanes, a power of two; all lanes of the warp take part.
template <class Combine, int lanes>
__device__ __forceinline__ typename Combine::Value combine_lanes(typename Combine::Value value) {
#pragma unroll
  for (int mask = lanes / 2; mask > 0; mask /= 2) value = Combine::of(value, from_lane(value, mask));
  return value;
}

constexpr int row_warps = (row_threads + 31) / 32;

// Partial results of the warps. Two sets take turns: a warp that is one reduction ahead does not overwrite what
// others still read, and it cannot be two ahead, because of the barrier between.
struct Partials {
  float2 of_warp[2][cta_rows * row_warps];
};

// Until all threads of this row are here.
__device__ __forceinline__ void sync_row() {
  if constexpr (cta_rows == 1) {
    __syncthreads();
  } else {
    // Barrier 0 is that of __syncthreads.
    asm volatile("bar.sync %0, %1;" ::"r"(1 + (int)threadIdx.x / row_threads), "n"(row_threads) : "memory");
  }
}

// All threads of a row get the result. All rows of a warp take part.
template <class Combine>
__device__ __forceinline__ typename Combine::Value combine_row(typename Combine::Value value, Partials& partials,
                                                              int& turn) {
  typedef typename Combine::Value Value;
  if constexpr (row_threads <= 32) {
    return combine_lanes<Combine, row_threads>(value);
  } else {
    value = combine_lanes<Combine, 32>(value);
    const int warp = threadIdx.x / 32;
    float2* set = partials.of_warp[turn];
    turn ^= 1;
    if (threadIdx.x % 32 == 0) *(Value*)&set[warp] = value;
    sync_row();
    const float2* of_row = set + warp / row_warps * row_warps;
//% if reduction == 'serial'
    value = *(const Value*)&of_row[0];
#pragma unroll
    for (int i = 1; i < row_warps; ++i) value = Combine::of(value, *(const Value*)&of_row[i]);
    return value;
//% else
    return combine_lanes<Combine, row_warps>(*(const Value*)&of_row[threadIdx.x % row_warps]);
//% end
  }
}
