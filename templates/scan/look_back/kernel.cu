// scan/look_back: each element is read and written once. A CTA scans a tile and adds the sum of all tiles before it,
// which it finds by looking back at what those have published (Merrill and Garland, 2016).

#include "include/types.cuh"
#include "include/memory.cuh"
#include "include/grid_dependency.cuh"

constexpr int warps = ${warps};
constexpr int threads = 32 * warps;
constexpr int packet_elements = ${packet_bytes / 4};
constexpr int rows = ${rows};                               // packets of a thread, 32 of them beside each other
constexpr int row_elements = 32 * packet_elements;
constexpr int warp_elements = rows * row_elements;
constexpr int tile_elements = warps * warp_elements;
constexpr bool exclusive = ${exclusive};
constexpr bool waits_for_launches = ${dependent_launch && pdl};

// What a tile has published: nothing yet, its own sum, or the sum of all elements up to its end. Sums over tiles are
// doubles: a chain of a hundred thousand additions would show in f32. The state takes the place of the two lowest bits,
// so that it is seen together with the sum; an infinity without them is an infinity again.
enum TileState : unsigned long long { nothing = 0, own_sum = 1, prefix = 2, state_bits = 3 };

__device__ __forceinline__ void publish(unsigned long long* tile, TileState state, double sum) {
  const unsigned long long word = (__double_as_longlong(sum) & ~state_bits) | state;
  asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(tile), "l"(word) : "memory");
}

__device__ __forceinline__ unsigned long long look_at(const unsigned long long* tile) {
  unsigned long long word;
  asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(word) : "l"(tile) : "memory");
  return word;
}

// The sum of all tiles before `tile`, for all lanes of a warp: each looks at another tile, the nearest first.
__device__ __forceinline__ double sum_before(const unsigned long long* tiles, int tile) {
  const int lane = threadIdx.x % 32;
  double sum = 0;
  for (int nearest = tile - 1;; nearest -= 32) {
    const int looked_at = nearest - lane;
    unsigned long long word = prefix;           // before the first tile: zero
    do {
      if (looked_at >= 0) word = look_at(tiles + looked_at);
    } while (__any_sync(0xffffffffu, (word & state_bits) == nothing));
    const u32 known = __ballot_sync(0xffffffffu, (word & state_bits) == prefix);
    const int end = known ? __ffs(known) - 1 : 31;      // the last lane that counts
    double part = lane <= end ? __longlong_as_double(word & ~state_bits) : 0;
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) part += __shfl_xor_sync(0xffffffffu, part, mask);
    sum += part;
    if (known) return sum;
  }
}

struct Packet {
  float value[packet_elements];
};

// Zeros behind the last element.
__device__ __forceinline__ Packet load(const float* x, long long first, int N) {
  Packet packet = {};
  if (first + packet_elements > N) {
#pragma unroll
    for (int j = 0; j < packet_elements; ++j) {
      if (first + j < N) packet.value[j] = x[first + j];
    }
  } else if constexpr (packet_elements == 4) {
    const uint4 words = load_global(x + first);
    packet.value[0] = __uint_as_float(words.x), packet.value[1] = __uint_as_float(words.y);
    packet.value[2] = __uint_as_float(words.z), packet.value[3] = __uint_as_float(words.w);
  } else if constexpr (packet_elements == 2) {
    const uint2 words = load_global_u32x2(x + first);
    packet.value[0] = __uint_as_float(words.x), packet.value[1] = __uint_as_float(words.y);
  } else {
    packet.value[0] = x[first];
  }
  return packet;
}

__device__ __forceinline__ void store(float* y, long long first, int N, const Packet& packet) {
  if (first + packet_elements > N) {
#pragma unroll
    for (int j = 0; j < packet_elements; ++j) {
      if (first + j < N) y[first + j] = packet.value[j];
    }
  } else if constexpr (packet_elements == 4) {
    store_global(y + first, make_float4(packet.value[0], packet.value[1], packet.value[2], packet.value[3]));
  } else if constexpr (packet_elements == 2) {
    store_global_u32x2(y + first, __float_as_uint(packet.value[0]), __float_as_uint(packet.value[1]));
  } else {
    y[first] = packet.value[0];
  }
}

// Scans the packets of a warp: what stands for an element becomes the sum up to it, or before it. Returns the warp's sum.
__device__ __forceinline__ float scan_warp(Packet (&packets)[rows]) {
  const int lane = threadIdx.x % 32;
  float before_row = 0.0f;
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    float own = 0.0f;
    Packet sums;
#pragma unroll
    for (int j = 0; j < packet_elements; ++j) {
      const float before = own;
      own += packets[i].value[j];
      sums.value[j] = exclusive ? before : own;
    }
    float up_to = own;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const float other = __shfl_up_sync(0xffffffffu, up_to, distance);
      if (lane >= distance) up_to += other;
    }
    const float left = __shfl_up_sync(0xffffffffu, up_to, 1);
    const float before = before_row + (lane > 0 ? left : 0.0f);
#pragma unroll
    for (int j = 0; j < packet_elements; ++j) packets[i].value[j] = before + sums.value[j];
    before_row += __shfl_sync(0xffffffffu, up_to, 31);
  }
  return before_row;
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) scan(
    const float* __restrict__ x, float* __restrict__ y, unsigned long long* tiles, unsigned int* next_tile, int N) {
  __shared__ int own_tile;
  __shared__ float sum_of_warp[warps];
  __shared__ float before_tile;
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  // In the order in which CTAs begin: those that a CTA waits for have begun.
  if (threadIdx.x == 0) own_tile = atomicAdd(next_tile, 1);
  __syncthreads();
  const int tile = own_tile;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const long long first = (long long)tile * tile_elements + warp * warp_elements + lane * packet_elements;

  Packet packets[rows];
#pragma unroll
  for (int i = 0; i < rows; ++i) packets[i] = load(x, first + i * row_elements, N);
  const float own_sum_of_warp = scan_warp(packets);
  if (lane == 0) sum_of_warp[warp] = own_sum_of_warp;
  __syncthreads();
  float before = 0.0f, sum = 0.0f;
#pragma unroll
  for (int i = 0; i < warps; ++i) {
    if (i == warp) before = sum;
    sum += sum_of_warp[i];
  }
  if (warp == 0) {
    double of_others = 0;
    if (tile > 0) {
      if (lane == 0) publish(tiles + tile, own_sum, sum);
      of_others = sum_before(tiles, tile);
    }
    if (lane == 0) {
      publish(tiles + tile, prefix, of_others + sum);
      before_tile = (float)of_others;
    }
  }
  __syncthreads();
  before += before_tile;
#pragma unroll
  for (int i = 0; i < rows; ++i) {
#pragma unroll
    for (int j = 0; j < packet_elements; ++j) packets[i].value[j] += before;
    store(y, first + i * row_elements, N, packets[i]);
  }
}
