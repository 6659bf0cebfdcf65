// Groups larger than a warp, barriers of the whole grid, atomics of more than a word.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

// Each round takes its neighbour's value of the round before, wherever the neighbour's block runs.
extern "C" __global__ void rotate(int* values, int count, int rounds) {
  const auto grid = cg::this_grid();
  for (int round = 0; round < rounds; ++round) {
    for (int i = grid.thread_rank(); i < count; i += grid.size())
      values[(round + 1) * count + i] = values[round * count + (i + 1) % count] + 1;
    grid.sync();
  }
}

extern "C" __global__ void sum_of_halves(int* out) {
  __shared__ cg::block_tile_memory<256> memory;
  const auto block = cg::this_thread_block(memory);
  const auto half = cg::tiled_partition<128>(block);
  out[block.thread_rank()] = cg::reduce(half, int(block.thread_rank()), cg::plus<int>());
}

struct alignas(16) Pair {
  unsigned long long first, second;
};
extern "C" __global__ void count_pairs(Pair* pair) {
  while (true) {
    const volatile Pair& now = *pair;
    const Pair seen{now.first, now.second};
    const Pair wanted{seen.first + 1, seen.second + 2};
    const Pair found = atomicCAS(pair, seen, wanted);
    if (found.first == seen.first && found.second == seen.second) break;
  }
}
extern "C" __global__ void exchange_pairs(Pair* pair, Pair* out) {
  out[threadIdx.x] = atomicExch(pair, Pair{threadIdx.x, 2ull * threadIdx.x});
}

extern "C" __global__ void add_vectors(float* sums, __half2* halves) {
  atomicAdd(reinterpret_cast<float2*>(sums), make_float2(1, 2));
  atomicAdd(reinterpret_cast<float4*>(sums + 4), make_float4(1, 2, 3, 4));
  atomicAdd(halves, __floats2half2_rn(0.5f, 1));
}

// A of 16 x 16, half of it stored; B of 16 x 8 by columns.
extern "C" __global__ void sparse_product(float* out, const unsigned* a, const unsigned* b, const unsigned* metadata) {
  const int group = threadIdx.x / 4, t = threadIdx.x % 4;
  float d[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0x2;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[group * 4 + t]), "r"(a[(group + 8) * 4 + t]), "r"(b[group * 8 + t]), "r"(b[group * 8 + t + 4]),
        "r"(t == 2 ? metadata[group] : 0xffffffffu));
  for (int i = 0; i < 4; ++i) out[(group + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
}
