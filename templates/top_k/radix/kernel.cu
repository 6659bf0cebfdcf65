// top_k/radix: a CTA finds the least rank that is among the results, digit by digit: it counts the digits of those that
// agree with what is known of it, until few enough are left to sort. Where several CTAs share a row, each finds the
// results of its part, and a second launch those of the row among them.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/grid_dependency.cuh"

#include "include/elements.cuh"
#include "include/scalars.cuh"
#include "top_k/ranks.cuh"

constexpr int results = ${K};
constexpr int threads = ${threads};
constexpr int row_split = ${row_split};
constexpr int digit_bits = ${digit_bits};
constexpr int digits = 1 << digit_bits;
constexpr int copies = ${copies};                         // of each count: a lane has one of them
constexpr int capacity = ${capacity};                     // candidates that are sorted, a power of two
constexpr bool waits_for_launches = ${dependent_launch && pdl};

struct Shared {
  Rank candidates[capacity];
  int counts[digits * copies];
  int digit, above, candidate_count;
};

// A part of a row.
struct Elements {
  const Element* row;
  int first, count;
  __device__ __forceinline__ Rank operator[](int i) const { return rank_of(value_of(row[first + i]), first + i); }
};

// What CTAs have left of their parts.
struct Candidates {
  const Rank* first;
  int count;
  __device__ __forceinline__ Rank operator[](int i) const { return first[i]; }
};

template <class Source, class Use>
__device__ __forceinline__ void for_each(const Source& source, Use use) {
#pragma unroll ${batch}
  for (int i = threadIdx.x; i < source.count; i += threads) use(source[i]);
}

// The first warp looks for the digit of the `wanted`th rank from above, and counts those above it.
__device__ __forceinline__ void find_digit(Shared& shared, int wanted) {
  constexpr int lane_digits = digits / 32;
  const int lane = threadIdx.x;
  const int last = digits - 1 - lane * lane_digits;     // lanes have digits from above
  int own = 0;
  for (int i = 0; i < lane_digits * copies; ++i) own += shared.counts[(last + 1) * copies - 1 - i];
  int above = own;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, above, distance);
    if (lane >= distance) above += other;
  }
  above -= own;
  if (above >= wanted || above + own < wanted) return;
  for (int digit = last;; --digit) {
    int count = 0;
    for (int i = 0; i < copies; ++i) count += shared.counts[digit * copies + i];
    if (above + count >= wanted) {
      shared.digit = digit;
      shared.above = above;
      return;
    }
    above += count;
  }
}

// A rank that at most `capacity`, and at least `results` ranks reach; all of them where there are fewer.
template <class Source>
__device__ __forceinline__ Rank least_rank(const Source& source, Shared& shared) {
  if (source.count <= capacity) return 0;
  Rank known = 0;                                       // the digits found so far
  int wanted = results;                                 // of the ranks that agree with them
#pragma unroll 1
  for (int shift = 64 - digit_bits;; shift = max(shift - digit_bits, 0)) {
    const Rank upper = shift + digit_bits >= 64 ? 0 : ~(Rank)0 << (shift + digit_bits);
    for (int i = threadIdx.x; i < digits * copies; i += threads) shared.counts[i] = 0;
    __syncthreads();
    for_each(source, [&](Rank rank) {
      if ((rank & upper) == (known & upper)) {
        atomicAdd(&shared.counts[(int)(rank >> shift & (digits - 1)) * copies + threadIdx.x % copies], 1);
      }
    });
    __syncthreads();
    if (threadIdx.x < 32) find_digit(shared, wanted);
    __syncthreads();
    known = (known & upper) | (Rank)shared.digit << shift;
    wanted -= shared.above;
    int count = 0;
    for (int i = 0; i < copies; ++i) count += shared.counts[shared.digit * copies + i];
    __syncthreads();
    if (results - wanted + count <= capacity) return known;
  }
}

// Ranks in descending order, by a bitonic network.
__device__ __forceinline__ void sort(Rank (&ranks)[capacity]) {
#pragma unroll 1
  for (int size = 2; size <= capacity; size *= 2) {
#pragma unroll 1
    for (int distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < capacity / 2; i += threads) {
        const int low = i / distance * distance * 2 + i % distance, high = low + distance;
        const bool descending = (low & size) == 0;
        const Rank first = ranks[low], second = ranks[high];
        if (descending == first < second) {
          ranks[low] = second;
          ranks[high] = first;
        }
      }
    }
  }
  __syncthreads();
}

template <class Source>
__device__ __forceinline__ void gather(const Source& source, Shared& shared) {
  if (threadIdx.x == 0) shared.candidate_count = 0;
  for (int i = threadIdx.x; i < capacity; i += threads) shared.candidates[i] = 0;
  const Rank least = least_rank(source, shared);
  __syncthreads();
  for_each(source, [&](Rank rank) {
    if (rank > 0 && rank >= least) shared.candidates[atomicAdd(&shared.candidate_count, 1)] = rank;
  });
  __syncthreads();
}

__device__ __forceinline__ void store_results(Element* value, long long* index, const Element* x, int row, int M,
                                              Shared& shared) {
  sort(shared.candidates);
  for (int i = threadIdx.x; i < results; i += threads) {
    const u32 column = index_of(shared.candidates[i]);
    value[(long long)row * results + i] = x[(long long)row * M + column];
    index[(long long)row * results + i] = column;
  }
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) top_k(
    const Element* __restrict__ x, Element* __restrict__ value, long long* __restrict__ index,
    Rank* __restrict__ partial, int M) {
  extern __shared__ uint4 dynamic_smem[];
  Shared& shared = *(Shared*)dynamic_smem;
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const int row = blockIdx.x / row_split, part = blockIdx.x % row_split;
  const int first = (long long)M * part / row_split, last = (long long)M * (part + 1) / row_split;
  gather(Elements{x + (long long)row * M, first, last - first}, shared);
  if constexpr (row_split == 1) {
    store_results(value, index, x, row, M, shared);
  } else {
    Rank* to = partial + (long long)blockIdx.x * capacity;
    for (int i = threadIdx.x; i < capacity; i += threads) to[i] = shared.candidates[i];
  }
}

extern "C" __global__ void __launch_bounds__(threads) top_k_finish(
    const Element* __restrict__ x, Element* __restrict__ value, long long* __restrict__ index,
    const Rank* __restrict__ partial, int M) {
  extern __shared__ uint4 dynamic_smem[];
  Shared& shared = *(Shared*)dynamic_smem;
  if constexpr (waits_for_launches) wait_for_launch_ahead();
  gather(Candidates{partial + (long long)blockIdx.x * row_split * capacity, row_split * capacity}, shared);
  store_results(value, index, x, blockIdx.x, M, shared);
}
