#pragma once
// What a CTA works on: tile_q rows of a head and, of its key tiles, those of its share.
struct Work {
  int head;
  int first_row;
  int tiles;  // key tiles that the rows can see
  int split;  // number of the share of the keys: 0..kv_split - 1
};

__device__ __forceinline__ Work work_of(int row_tile, int head, int split, int S) {
  const int first_row = row_tile * tile_q;
  const int keys = causal ? min(S, first_row + tile_q) : S;
  return {head, first_row, (keys + tile_k - 1) / tile_k, split};
}

// Persistent CTAs: the longest rows of a head and then the shortest. Such pairs take about as long, and neighbours share a
// head. A CTA gets another pair of each head: the last rows may be few.
template <typename Body>
__device__ __forceinline__ void for_each_pair(int S, int heads, const Body& body) {
  const int row_tiles = (S + tile_q - 1) / tile_q;
  const int pairs = (row_tiles + 1) / 2;
  int half = 0;
  for (int i = blockIdx.x; i < pairs * heads; i += half == 0 ? (int)gridDim.x : 0) {
    const int shortest = (i + i / pairs) % pairs;
    const int longest = row_tiles - 1 - shortest;
    const int row_tile = half == 0 ? longest : shortest;
    if (half == 0 || row_tile != longest) body(work_of(row_tile, i / pairs, 0, S));
    half ^= 1;
  }
}

// Calls `body` with each work of this CTA.
template <typename Body>
__device__ __forceinline__ void for_each_work(int S, int heads, const Body& body) {
  if constexpr (!persistent) {
    const int row_tile = causal ? gridDim.x / kv_split - 1 - blockIdx.x / kv_split  // the longest first
                                : blockIdx.x / kv_split;
    body(work_of(row_tile, blockIdx.y, blockIdx.x % kv_split, S));
  } else if constexpr (causal && works_in_pairs) {
    for_each_pair(S, heads, body);
  } else {
    const int row_tiles = (S + tile_q - 1) / tile_q;
    for (int i = blockIdx.x; i < row_tiles * heads; i += gridDim.x) {
      if constexpr (causal) {
        const int row_tile = row_tiles - 1 - i / heads;  // the longest first
        body(work_of(row_tile, i % heads, 0, S));
      } else {
        // Neighbours share keys and values. A CTA gets other rows of each head: the last ones may be few.
        body(work_of((i + i / row_tiles) % row_tiles, i / row_tiles, 0, S));
      }
    }
  }
}

// Key tiles in the order in which they are worked on; they are dealt to the groups of all shares in turn.
__device__ __forceinline__ int first_tile_of(const Work& work, int group) { return work.split * groups + group; }
constexpr int tile_step = groups * kv_split;

__device__ __forceinline__ int first_key_of(int i, const Work& work) {
  return (kv_order == KeyOrder::forward ? i : work.tiles - 1 - i) * tile_k;
}
