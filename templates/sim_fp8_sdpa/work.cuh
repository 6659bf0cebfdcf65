constexpr bool causal = ${mask == 'causal'};  // row i of M attends to keys 0 to N - M + i
constexpr bool persistent = ${persistent};
constexpr bool keys_forward = ${kv_order == 'forward'};

// What a CTA works on: ${tile_q} rows of a head and, of its key tiles, those of its share.
struct Work {
  int head;
  int first_row;
  int tiles;  // key tiles that the rows can see
  int split;  // number of the share of the keys: 0..kv_split - 1
};

__device__ __forceinline__ Work work_of(int row_tile, int head, int split, int M, int N) {
  const int first_row = row_tile * tile_q;
  const int keys = causal ? min(N, first_row + tile_q + N - M) : N;
  return {head, first_row, (keys + tile_k - 1) / tile_k, split};
}

// Calls `body` with each work of this CTA.
template <typename Body>
__device__ __forceinline__ void for_each_work(int M, int N, int heads, const Body& body) {
  const int row_tiles = (M + tile_q - 1) / tile_q;
  if constexpr (persistent && causal) {
    // The longest rows of a head and then the shortest: all such pairs take as long, and neighbours share a head.
    const int pairs = (row_tiles + 1) / 2;
    int half = 0;
    for (int i = blockIdx.x; i < pairs * heads; i += half == 0 ? (int)gridDim.x : 0) {
      const int longest = row_tiles - 1 - i % pairs;
      const int row_tile = half == 0 ? longest : i % pairs;
      if (half == 0 || row_tile != longest) body(work_of(row_tile, i / pairs, 0, M, N));
      half ^= 1;
    }
  } else if constexpr (persistent) {
    for (int i = blockIdx.x; i < row_tiles * heads; i += gridDim.x) {
      body(work_of(i % row_tiles, i / row_tiles, 0, M, N));  // neighbours share keys and values
    }
  } else {
    const int row_tile = causal ? gridDim.x / kv_split - 1 - blockIdx.x / kv_split  // the longest first
                                : blockIdx.x / kv_split;
    body(work_of(row_tile, blockIdx.y, blockIdx.x % kv_split, M, N));
  }
}

// Key tiles in the order in which they are worked on; they are dealt to the groups of all shares in turn.
__device__ __forceinline__ int first_tile_of(const Work& work, int group) { return work.split * groups + group; }
constexpr int tile_step = groups * kv_split;

__device__ __forceinline__ int first_key_of(int i, const Work& work) {
  return (keys_forward ? i : work.tiles - 1 - i) * tile_k;
}
