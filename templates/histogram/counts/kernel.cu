// histogram/counts: ${dtype} elements into ${K} bins. CTAs count in ${where} memory and add to the result by atomics,
// which are of integers: the order makes no difference.

#include "include/types.cuh"
#include "include/memory.cuh"
#include "include/grid_dependency.cuh"

typedef ${dtype == 'u8' ? 'unsigned char' : 'float'} Element;
constexpr int bins = ${K};
constexpr int threads = ${threads};
constexpr int packet_bytes = ${packet_bytes};
constexpr int packet_elements = packet_bytes / sizeof(Element);
constexpr int batch = ${batch};                           // packets that a thread has on their way at a time
constexpr bool in_shared = ${where == 'shared'};
constexpr int copies = ${copies};                         // of each count in shared memory: a lane has one of them
constexpr int ranges = ${ranges};                         // of bins; a CTA counts those of one range
constexpr int range_bins = (bins + ranges - 1) / ranges;
constexpr bool merges_runs = ${merge_runs};             // equal bins that follow each other are counted at once
constexpr bool waits_for_launches = ${dependent_launch && pdl};

struct Bins {
  float low, high, scale;
  int first;                                            // of this CTA's range
};

// The bin of an element, or -1.
__device__ __forceinline__ int bin_of(unsigned char element, const Bins&) { return element; }
__device__ __forceinline__ int bin_of(float element, const Bins& by) {
  if (!(element >= by.low && element <= by.high)) return -1;
  return min((int)__fmul_rn(__fsub_rn(element, by.low), by.scale), bins - 1);
}

__device__ __forceinline__ void add(int* counts, int bin, int count, const Bins& by) {
  if (bin < 0) return;
  if constexpr (!in_shared) {
    atomicAdd(counts + bin, count);
  } else {
    const int place = bin - by.first;
    if (ranges > 1 && (unsigned)place >= (unsigned)range_bins) return;
    atomicAdd(counts + place * copies + threadIdx.x % copies, count);
  }
}

// Equal bins that follow each other.
struct Run {
  int bin, length;
};

__device__ __forceinline__ void count(int* counts, Run& run, int bin, const Bins& by) {
  if constexpr (!merges_runs) {
    add(counts, bin, 1, by);
  } else if (bin == run.bin) {
    ++run.length;
  } else {
    add(counts, run.bin, run.length, by);
    run = {bin, 1};
  }
}

struct Packet {
  u32 word[packet_bytes / 4];
};

__device__ __forceinline__ Packet load(const Element* from) {
  Packet packet;
  if constexpr (packet_bytes == 16) {
    const uint4 words = load_global(from);
    packet.word[0] = words.x, packet.word[1] = words.y, packet.word[2] = words.z, packet.word[3] = words.w;
  } else if constexpr (packet_bytes == 8) {
    const uint2 words = load_global_u32x2(from);
    packet.word[0] = words.x, packet.word[1] = words.y;
  } else {
    packet.word[0] = load_global_u32(from);
  }
  return packet;
}

__device__ __forceinline__ void element_of(const Packet& packet, int j, float& element) {
  element = __uint_as_float(packet.word[j]);
}
__device__ __forceinline__ void element_of(const Packet& packet, int j, unsigned char& element) {
  element = packet.word[j / 4] >> j % 4 * 8;
}

extern "C" __global__ void __launch_bounds__(256) histogram_clear(int* __restrict__ result) {
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const int bin = blockIdx.x * 256 + threadIdx.x;
  if (bin < bins) result[bin] = 0;
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) histogram(
    const Element* __restrict__ x, int* __restrict__ result, int N, float low, float high) {
  extern __shared__ int dynamic_smem[];
  int* const counts = in_shared ? dynamic_smem : result;
  const Bins by = {low, high, bins / (high - low), (int)(blockIdx.x % ranges) * range_bins};
  if constexpr (in_shared) {
    for (int i = threadIdx.x; i < range_bins * copies; i += threads) counts[i] = 0;
    __syncthreads();
  }
  // Also where counts are in shared memory: what the launch ahead of that of the zeros reads may be `result`.
  if constexpr (waits_for_launches) wait_for_launch_ahead();

  Run run = {-1, 0};
  const int walkers = gridDim.x / ranges * threads;     // threads that share out the elements
  const int walker = blockIdx.x / ranges * threads + threadIdx.x;
  const int packets = N / packet_elements;
#pragma unroll 1
  for (long long first = walker; first < packets; first += (long long)batch * walkers) {
    Packet arrived[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const long long packet = first + (long long)i * walkers;
      if (packet < packets) arrived[i] = load(x + packet * packet_elements);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (first + (long long)i * walkers >= packets) continue;
#pragma unroll
      for (int j = 0; j < packet_elements; ++j) {
        Element element;
        element_of(arrived[i], j, element);
        count(counts, run, bin_of(element, by), by);
      }
    }
  }
  const long long rest = (long long)packets * packet_elements + walker;  // fewer elements than a packet has
  if (rest < N) count(counts, run, bin_of(x[rest], by), by);
  add(counts, run.bin, run.length, by);

  if constexpr (in_shared) {
    __syncthreads();
    for (int place = threadIdx.x; place < range_bins && by.first + place < bins; place += threads) {
      int sum = 0;
      // Neighbouring lanes begin with different copies, which lie in different banks.
#pragma unroll
      for (int i = 0; i < copies; ++i) sum += counts[place * copies + (i + threadIdx.x) % copies];
      if (sum > 0) atomicAdd(result + by.first + place, sum);
    }
  }
}
