// What a CTA works on: ${tile_q} rows that share a head of keys and, of their key tiles, those of its share.
//% if pack
// Rows are packed: row `r` of a key head is position r / ratio of the r % ratio-th query head of its group.
//% end
struct Work {
  int head;        // which of all heads of ${pack ? 'keys' : 'queries'}, over the batch
  int batch;
  int kv_head;     // within the batch
  int first_row;   // of the head's
  int first_tile;  // of the key tiles that the rows can see
  int tiles;       // where these end
  int split;       // number of the share of the keys: 0..kv_split - 1
};

// By value from the caller. Strides are in elements.
struct Problem {
  int S_q;
  int S_kv;
  int batches;
  int heads;      // of queries in a batch
  int kv_heads;   // of keys and values
  int window;     // keys that a row sees at most, its own position's the last
  float softmax_scale;
  int q_row;
  int q_head;
  int o_row;
  int o_head;
  long long q_batch;
  long long o_batch;

  __device__ __forceinline__ int ratio() const { return heads / kv_heads; }
//% if pack
  __device__ __forceinline__ int rows() const { return S_q * ratio(); }  // of a work's head
  __device__ __forceinline__ int work_heads() const { return batches * kv_heads; }
  __device__ __forceinline__ int position(int row) const { return row / ratio(); }
  __device__ __forceinline__ int query_head(const Work& work, int row) const {
    return work.kv_head * ratio() + row % ratio();
  }
//% else
  __device__ __forceinline__ int rows() const { return S_q; }  // of a work's head
  __device__ __forceinline__ int work_heads() const { return batches * heads; }
  __device__ __forceinline__ int position(int row) const { return row; }
  __device__ __forceinline__ int query_head(const Work& work, int) const { return work.head - work.batch * heads; }
//% end
  __device__ __forceinline__ int scale_index(const Work& work) const { return work.batch * kv_heads + work.kv_head; }

  // Keys that the query at a position sees: from key_begin up to key_end, which may be before it.
  __device__ __forceinline__ int key_end(const Work&, int position) const {
//% if causal
    return min(S_kv, S_kv - S_q + position + 1);  // the last query sees the last key
//% else
    return S_kv;
//% end
  }
//% if window > 0
  __device__ __forceinline__ int key_begin(const Work&, int position) const {
    return max(0, S_kv - S_q + position + 1 - window);
  }
//% end
};

__device__ __forceinline__ Work work_of(int row_tile, int head, int split, const Problem& problem) {
  Work work;
  work.head = head;
  work.first_row = row_tile * tile_q;
  work.split = split;
//% if pack
  work.batch = head / problem.kv_heads;
  work.kv_head = head % problem.kv_heads;
//% else
  work.batch = head / problem.heads;
  work.kv_head = head % problem.heads / problem.ratio();
//% end
  const int last_row = min(work.first_row + tile_q, problem.rows()) - 1;
  const int end = problem.key_end(work, problem.position(last_row));
  work.tiles = end > 0 ? (end + tile_k - 1) / tile_k : 0;
//% if window > 0
  work.first_tile = problem.key_begin(work, problem.position(work.first_row)) / tile_k;
//% else
  work.first_tile = 0;
//% end
  return work;
}

// Calls `body` with each work of this CTA.
template <typename Body>
__device__ __forceinline__ void for_each_work(const Problem& problem, const Body& body) {
//% if persistent
  const int row_tiles = (problem.rows() + tile_q - 1) / tile_q;
  const int heads = problem.work_heads();
  for (int i = blockIdx.x; i < row_tiles * heads; i += gridDim.x) {
//%   if causal
    body(work_of(row_tiles - 1 - i / heads, i % heads, 0, problem));  // the longest first
//%   else
    body(work_of(i % row_tiles, i / row_tiles, 0, problem));  // neighbours share keys and values
//%   end
  }
//% else
//%   if causal
  const int row_tile = gridDim.x / kv_split - 1 - blockIdx.x / kv_split;  // the longest first
//%   else
  const int row_tile = blockIdx.x / kv_split;
//%   end
  body(work_of(row_tile, blockIdx.y, blockIdx.x % kv_split, problem));
//% end
}

// Key tiles in the order in which they are worked on; they are dealt to the groups of all shares in turn.
__device__ __forceinline__ int first_tile_of(const Work& work, int group) {
  return work.first_tile + work.split * groups + group;
}
constexpr int tile_step = groups * kv_split;

__device__ __forceinline__ int first_key_of(int i, const Work& work) {
//% if kv_order == 'forward'
  return i * tile_k;
//% else
  return (work.first_tile + work.tiles - 1 - i) * tile_k;
//% end
}
