// sample/radix: a CTA draws an index from a row of ${dtype} logits. Ranks (top_k/ranks.cuh) order the logits; sets of
// the largest ones are known by their least rank, which is found digit by digit from above.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/grid_dependency.cuh"

#include "include/elements.cuh"
#include "include/scalars.cuh"
#include "top_k/ranks.cuh"
#include "sample/weights.cuh"

constexpr int threads = ${threads};
constexpr int row_threads = threads;
constexpr int packet_bytes = ${packet_bytes};
constexpr int packet_elements = packet_bytes / sizeof(Element);
constexpr int batch = ${batch};                           // packets that a thread has on their way at a time
constexpr int digit_bits = ${digit_bits};
constexpr int digits = 1 << digit_bits;
constexpr int copies = ${copies};                         // of each count: a lane has one of them
constexpr int capacity = ${capacity};                     // candidates that are sorted, a power of two
constexpr bool waits_for_launches = ${dependent_launch && pdl};
constexpr u32 all_lanes = 0xffffffffu;
typedef Packet<packet_bytes> RowPacket;

#include "include/unaligned_row.cuh"
#include "sample/row_source.cuh"

struct Shared {
  Rank candidates[capacity];
  Weight weights[digits];
  int counts[digits * copies];
  Weight above, sum;
  Rank largest;
  int digit, at, candidate_count;
};

__device__ __forceinline__ Weight inclusive_sum_of_lanes(Weight own) {
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const Weight other = __shfl_up_sync(all_lanes, own, distance);
    if (threadIdx.x % 32 >= distance) own += other;
  }
  return own;
}

// Over the CTA; every thread gets it.
__device__ __forceinline__ Weight sum_of_threads(Shared& shared, Weight own) {
  __syncthreads();
  if (threadIdx.x == 0) shared.sum = 0;
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) own += __shfl_xor_sync(all_lanes, own, mask);
  __syncthreads();
  if (threadIdx.x % 32 == 0) atomicAdd(&shared.sum, own);
  __syncthreads();
  return shared.sum;
}

__device__ __forceinline__ Rank largest_rank(const Row& row, Shared& shared) {
  if (threadIdx.x == 0) shared.largest = 0;
  Rank own = 0;
  row.for_each<batch>([&](Rank rank) { own = max(own, rank); });
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) own = max(own, __shfl_xor_sync(all_lanes, own, mask));
  __syncthreads();
  if (threadIdx.x % 32 == 0) atomicMax(&shared.largest, own);
  __syncthreads();
  return shared.largest;
}

// The first warp looks for the digit from above at which what all measure comes to `wanted`.
template <class Measure>
__device__ __forceinline__ void find_digit(Shared& shared, Weight wanted, Measure measure) {
  __syncthreads();
  if (threadIdx.x < 32) {
    constexpr int lane_digits = digits / 32;
    const int last = digits - 1 - threadIdx.x * lane_digits;  // lanes have digits from above
    Weight own = 0;
#pragma unroll 1
    for (int i = 0; i < lane_digits; ++i) own += measure(last - i);
    Weight above = inclusive_sum_of_lanes(own) - own;
    if (above < wanted && above + own >= wanted) {
      int digit = last;
      for (Weight next; above + (next = measure(digit)) < wanted; --digit) above += next;
      shared.digit = digit;
      shared.above = above;
    }
  }
  __syncthreads();
}

// The first of `count` places at which what all measure comes to `wanted`.
template <class Measure>
__device__ __forceinline__ int first_reaching(Shared& shared, int count, Weight wanted, Measure measure) {
  __syncthreads();
  if (threadIdx.x < 32) {
    Weight before = 0;
    for (int first = 0; first < count; first += 32) {
      const int place = first + threadIdx.x;
      const Weight sum = before + inclusive_sum_of_lanes(place < count ? measure(place) : 0);
      const u32 reaching = __ballot_sync(all_lanes, sum >= wanted);
      if (threadIdx.x == 0) shared.at = first + __ffs(reaching) - 1;
      if (reaching != 0) break;
      before = __shfl_sync(all_lanes, sum, 31);
    }
  }
  __syncthreads();
  return shared.at;
}

// Ranks that agree with the digits found so far, among which is the one that is looked for.
struct Group {
  Rank digits_found, mask;
  Weight wanted;                                        // of what the group measures
  int above, count;                                     // ranks above the group, and in it
  __device__ __forceinline__ bool has(Rank rank) const { return (rank & mask) == digits_found; }
};

enum class By { count, weight };

__device__ __forceinline__ int count_of(const Shared& shared, int digit) {
  int count = 0;
#pragma unroll 4
  for (int i = 0; i < copies; ++i) count += shared.counts[digit * copies + i];
  return count;
}

// Digits are found until few enough ranks are left to sort: those of the group, and those above it where `with_above`.
template <By by>
__device__ __forceinline__ Group narrowed(const Row& row, Shared& shared, const Weights& weights, Weight wanted,
                                          bool with_above) {
  Group group = {0, 0, wanted, 0, row.count};
#pragma unroll 1
  for (int shift = 64 - digit_bits; group.count + (with_above ? group.above : 0) > capacity;
       shift = max(shift - digit_bits, 0)) {
    __syncthreads();
    for (int i = threadIdx.x; i < digits * copies; i += threads) shared.counts[i] = 0;
    for (int i = threadIdx.x; i < digits; i += threads) shared.weights[i] = 0;
    __syncthreads();
    row.for_each<by == By::count ? batch : 1>([&](Rank rank) {
      if (!group.has(rank)) return;
      const int digit = (int)(rank >> shift) & (digits - 1);
      atomicAdd(&shared.counts[digit * copies + threadIdx.x % copies], 1);
      if constexpr (by == By::weight) atomicAdd(&shared.weights[digit], weights.of(logit_of(rank)));
    });
    find_digit(shared, group.wanted, [&](int digit) -> Weight {
      return by == By::weight ? shared.weights[digit] : count_of(shared, digit);
    });
    group.digits_found |= (Rank)shared.digit << shift;
    group.mask |= (Rank)(digits - 1) << shift;
    group.wanted -= shared.above;
    if constexpr (by == By::count) group.above += shared.above;
    group.count = count_of(shared, shared.digit);
  }
  return group;
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

template <class Wanted>
__device__ __forceinline__ void gather(const Row& row, Shared& shared, Wanted is_wanted) {
  __syncthreads();
  if (threadIdx.x == 0) shared.candidate_count = 0;
  for (int i = threadIdx.x; i < capacity; i += threads) shared.candidates[i] = 0;
  __syncthreads();
  row.for_each<batch>([&](Rank rank) {
    if (is_wanted(rank)) shared.candidates[atomicAdd(&shared.candidate_count, 1)] = rank;
  });
  sort(shared.candidates);
}

// The rank at which what it and larger ones measure comes to `wanted`.
template <By by>
__device__ __forceinline__ Rank least_rank(const Row& row, Shared& shared, const Weights& weights, Weight wanted) {
  const Group group = narrowed<by>(row, shared, weights, wanted, false);
  gather(row, shared, [&](Rank rank) { return group.has(rank); });
  const int at = first_reaching(shared, group.count, group.wanted, [&](int i) -> Weight {
    return by == By::weight ? weights.of(logit_of(shared.candidates[i])) : 1;
  });
  return shared.candidates[at];
}

// What a row is drawn by.
struct Request {
  int k;                                                // of the largest logits, from 1 on
  float factor, top_p, min_p, uniform;
};

struct Drawn {
  int index;
  Weight weight, of_all;
};

__device__ __forceinline__ Weight wanted_by_top_p(const Request& request, Weight of_all) {
  return max((Weight)1, part_of(of_all, request.top_p));
}

__device__ __forceinline__ Weight target_of(const Request& request, Weight of_all) {
  return min(of_all - 1, part_of(of_all, request.uniform));
}

// From a row whose k largest logits can be sorted: everything behind that is done with these.
__device__ __forceinline__ Drawn draw_from_few(const Row& row, Shared& shared, const Request& request) {
  const Group group = narrowed<By::count>(row, shared, Weights(), request.k, true);
  gather(row, shared, [&](Rank rank) { return rank >= group.digits_found; });
  const Weights weights = {logit_of(shared.candidates[0]), request.factor};
  const auto weight_at = [&](int i) { return weights.of(logit_of(shared.candidates[i])); };
  int kept = request.k;
  if (request.top_p < 1.0f) {
    Weight own = 0;
    for (int i = threadIdx.x; i < kept; i += threads) own += weight_at(i);
    const Weight wanted = wanted_by_top_p(request, sum_of_threads(shared, own));
    kept = min(kept, first_reaching(shared, kept, wanted, weight_at) + 1);
  }
  const Weight least_weight = part_of((Weight)1 << weight_bits, request.min_p);
  Weight own = 0;
  __syncthreads();                                      // the largest one has been read
  for (int i = threadIdx.x; i < capacity; i += threads) {
    const Rank rank = shared.candidates[i];
    const bool keeps = i == 0 || (i < kept && weight_at(i) >= least_weight);
    own += keeps ? weights.of(logit_of(rank)) : 0;
    // Halves change their places: what is kept comes in the order of indices.
    shared.candidates[i] = keeps ? rank << 32 | rank >> 32 : 0;
  }
  const Weight of_all = sum_of_threads(shared, own);
  sort(shared.candidates);
  const auto weight_in_order = [&](int i) -> Weight {
    const Rank rank = shared.candidates[i];
    return rank == 0 ? 0 : weights.of(logit_of(rank << 32));
  };
  const int at = first_reaching(shared, kept, target_of(request, of_all) + 1, weight_in_order);
  return {(int)index_of(shared.candidates[at] >> 32), weight_in_order(at), of_all};
}

__device__ __noinline__ Drawn draw_from_many(const Row& row, Shared& shared, const Request& request) {
  const Rank largest = largest_rank(row, shared);
  const Weights weights = {logit_of(largest), request.factor};
  Rank least = request.k < row.count ? least_rank<By::count>(row, shared, weights, request.k) : 0;
  if (request.top_p < 1.0f) {
    Weight own = 0;
    row.for_each<1>([&](Rank rank) { own += rank >= least ? weights.of(logit_of(rank)) : 0; });
    const Weight wanted = wanted_by_top_p(request, sum_of_threads(shared, own));
    least = max(least, least_rank<By::weight>(row, shared, weights, wanted));
  }
  const Weight least_weight = part_of((Weight)1 << weight_bits, request.min_p);
  const auto kept_weight = [&](Rank rank) -> Weight {
    const Weight weight = weights.of(logit_of(rank));
    return rank == largest || (rank >= least && weight >= least_weight) ? weight : 0;
  };
  // Sections of the row, in the place of digits: the first one is the highest.
  int section_bits = 0;
  while ((row.count - 1) >> section_bits >= digits) ++section_bits;
  __syncthreads();
  for (int i = threadIdx.x; i < digits; i += threads) shared.weights[i] = 0;
  __syncthreads();
  Weight own = 0;
  row.for_each<1>([&](Rank rank) {
    const Weight weight = kept_weight(rank);
    if (weight == 0) return;
    own += weight;
    atomicAdd(&shared.weights[digits - 1 - (index_of(rank) >> section_bits)], weight);
  });
  const Weight of_all = sum_of_threads(shared, own);
  const Weight wanted = target_of(request, of_all) + 1;
  find_digit(shared, wanted, [&](int digit) { return shared.weights[digit]; });
  const int first = (digits - 1 - shared.digit) << section_bits;
  const int at = first + first_reaching(shared, min(1 << section_bits, row.count - first), wanted - shared.above,
                                        [&](int i) { return kept_weight(row[first + i]); });
  return {at, weights.of(logit_of(row[at])), of_all};
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) sample(
    const Element* __restrict__ logits, const float* __restrict__ temperature, const int* __restrict__ top_k,
    const float* __restrict__ top_p, const float* __restrict__ min_p, const float* __restrict__ uniform,
    int* __restrict__ index, float* __restrict__ probability, int V) {
  extern __shared__ uint4 dynamic_smem[];
  Shared& shared = *(Shared*)dynamic_smem;
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const int n = blockIdx.x;
  const bool greedy = !(temperature[n] >= greedy_below);
  const int k = greedy ? 1 : top_k[n] <= 0 ? V : min(top_k[n], V);
  const Request request = {k, factor_of(greedy ? 1.0f : temperature[n]), top_p[n], min_p[n], uniform[n]};
  const long long begin = (long long)n * V;
  const Row row = {logits, unaligned_row(begin, begin + V), V};
  const Drawn drawn = k <= capacity ? draw_from_few(row, shared, request) : draw_from_many(row, shared, request);
  if (threadIdx.x > 0) return;
  index[n] = drawn.index;
  probability[n] = (float)__ddiv_rn(__ull2double_rn(drawn.weight), __ull2double_rn(drawn.of_all));
}
