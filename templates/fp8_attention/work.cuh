// What a CTA works on: ${tile_q} rows that share a head of keys and, of their key tiles, those of its share.
// Packed rows: row `r` of a key head is position r / ratio of the r % ratio-th query head of its group.
struct Work {
  int batch;
  int head;        // of the batch's heads of ${pack ? 'keys' : 'queries'}
  int kv_head;
  int first_row;   // of the rows of this head
  int first_tile;  // of the key tiles that the rows can see
  int tiles;       // where these end
  int split;       // number of the share of the keys: 0..kv_split - 1
//% if cu_seqlens
  int first_query;  // of the batch, among all queries
  int queries;
//% end
//% if sequence_keys
  int first_key;    // of the batch, among all keys
  int keys;
//% end
};

// By value from the caller. Strides are in elements.
struct Sizes {
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
};

struct Problem : Sizes {
//% if cu_seqlens
  const int* cu_seqlens_q;   // where the queries of each batch begin, and where the last ones end
//%   if page == 0
  const int* cu_seqlens_kv;
//%   end
//% end
//% if page > 0
  const int* page_table;     // [batch][page] of the cache
  const int* kv_lengths;
//% end

  __device__ __forceinline__ int ratio() const { return heads / kv_heads; }
  __device__ __forceinline__ int queries(const Work& work) const { return ${cu_seqlens ? 'work.queries' : 'S_q'}; }
  __device__ __forceinline__ int keys(const Work& work) const { return ${sequence_keys ? 'work.keys' : 'S_kv'}; }
  // Of the batch, in tensors that have all queries behind each other.
  __device__ __forceinline__ int first_query(const Work& work) const { return ${cu_seqlens ? 'work.first_query' : '0'}; }
  __device__ __forceinline__ int tensor_batch(const Work& work) const { return ${cu_seqlens ? '0' : 'work.batch'}; }
//% if pack
  __device__ __forceinline__ int rows_of(int queries) const { return queries * ratio(); }
  __device__ __forceinline__ int row_heads() const { return kv_heads; }
  __device__ __forceinline__ int position(int row) const { return row / ratio(); }
  __device__ __forceinline__ int query_head(const Work& work, int row) const {
    return work.head * ratio() + row % ratio();
  }
//% else
  __device__ __forceinline__ int rows_of(int queries) const { return queries; }
  __device__ __forceinline__ int row_heads() const { return heads; }
  __device__ __forceinline__ int position(int row) const { return row; }
  __device__ __forceinline__ int query_head(const Work& work, int) const { return work.head; }
//% end
  __device__ __forceinline__ int rows(const Work& work) const { return rows_of(queries(work)); }
  // Where the work's rows begin among those of all heads of all batches.
  __device__ __forceinline__ long long rows_before(const Work& work) const {
//% if cu_seqlens
    return rows_of(S_q) * (long long)work.head + rows_of(work.first_query);
//% else
    return rows_of(S_q) * ((long long)work.batch * row_heads() + work.head);
//% end
  }
  // Where a row's query is, in elements.
  __device__ __forceinline__ long long query_place(const Work& work, int row) const {
    return tensor_batch(work) * q_batch + (long long)query_head(work, row) * q_head +
           (long long)(first_query(work) + position(row)) * q_row;
  }
  // Among the heads of transposed values.
  __device__ __forceinline__ int values_head(const Work& work) const { return work.batch * kv_heads + work.kv_head; }
  __device__ __forceinline__ int q_scale_index(const Work& work) const {
    return ${cu_seqlens ? '' : 'work.batch * kv_heads + '}work.kv_head;
  }
  __device__ __forceinline__ int kv_scale_index(const Work& work) const {
    return ${cu_seqlens || page > 0 ? '' : 'work.batch * kv_heads + '}work.kv_head;
  }

  // Keys that the query at a position sees: from key_begin up to key_end, which may be before it.
  __device__ __forceinline__ int key_end(const Work& work, int position) const {
    if (!causal) return keys(work);
    return min(keys(work), keys(work) - queries(work) + position + 1);  // the last query sees the last key
  }
  __device__ __forceinline__ int key_begin(const Work& work, int position) const {
    return max(0, keys(work) - queries(work) + position + 1 - window);
  }
};

// Once its place and its lengths are known.
__device__ __forceinline__ void find_tiles(Work& work, const Problem& problem) {
  work.kv_head = ${pack ? 'work.head' : 'work.head / problem.ratio()'};
  const int last_row = min(work.first_row + tile_q, problem.rows(work)) - 1;
  const int end = problem.key_end(work, problem.position(last_row));
  work.tiles = end > 0 ? (end + tile_k - 1) / tile_k : 0;
  work.first_tile = has_window ? problem.key_begin(work, problem.position(work.first_row)) / tile_k : 0;
}

//% if cu_seqlens
// Tiles of rows of one head, over all batches: of each batch all, the last one filled in part.
__device__ __forceinline__ int most_row_tiles(const Problem& problem) {
  return problem.rows_of(problem.S_q) / tile_q + problem.batches;
}

// False where there are fewer tiles.
__device__ __forceinline__ bool find_work(Work& work, int row_tile, int head, int split, const Problem& problem) {
  work.head = head;
  work.split = split;
  for (work.batch = 0; work.batch < problem.batches; ++work.batch) {
    work.first_query = problem.cu_seqlens_q[work.batch];
    work.queries = problem.cu_seqlens_q[work.batch + 1] - work.first_query;
    const int tiles = (problem.rows(work) + tile_q - 1) / tile_q;
    if (row_tile < tiles) {
      work.first_row = (causal ? tiles - 1 - row_tile : row_tile) * tile_q;  // causal: the longest first
//%   if page > 0
      work.first_key = 0;
      work.keys = problem.kv_lengths[work.batch];
//%   else
      work.first_key = problem.cu_seqlens_kv[work.batch];
      work.keys = problem.cu_seqlens_kv[work.batch + 1] - work.first_key;
//%   end
      find_tiles(work, problem);
      return true;
    }
    row_tile -= tiles;
  }
  return false;
}
//% else
__device__ __forceinline__ Work work_of(int row_tile, int head, int split, const Problem& problem) {
  Work work;
  work.batch = head / problem.row_heads();
  work.head = head % problem.row_heads();
  work.first_row = row_tile * tile_q;
  work.split = split;
//%   if page > 0
  work.first_key = 0;
  work.keys = problem.kv_lengths[work.batch];
//%   end
  find_tiles(work, problem);
  return work;
}
//% end

// Calls `body` with each work of this CTA.
template <typename Body>
__device__ __forceinline__ void for_each_work(const Problem& problem, const Body& body) {
//% if cu_seqlens
  Work work;
  if constexpr (persistent) {
    const int row_tiles = most_row_tiles(problem);
    for (int i = blockIdx.x; i < row_tiles * problem.row_heads(); i += gridDim.x) {
      if (find_work(work, i % row_tiles, i / row_tiles, 0, problem)) body(work);
    }
  } else {
    if (find_work(work, blockIdx.x / kv_split, blockIdx.y, blockIdx.x % kv_split, problem)) body(work);
  }
//% else
  if constexpr (persistent) {
    const int row_tiles = (problem.rows_of(problem.S_q) + tile_q - 1) / tile_q;
    const int heads = problem.batches * problem.row_heads();
    for (int i = blockIdx.x; i < row_tiles * heads; i += gridDim.x) {
      if constexpr (causal) {
        body(work_of(row_tiles - 1 - i / heads, i % heads, 0, problem));  // the longest first
      } else {
        body(work_of(i % row_tiles, i / row_tiles, 0, problem));  // neighbours share keys and values
      }
    }
  } else {
    const int row_tile = causal ? gridDim.x / kv_split - 1 - blockIdx.x / kv_split  // the longest first
                                : blockIdx.x / kv_split;
    body(work_of(row_tile, blockIdx.y, blockIdx.x % kv_split, problem));
  }
//% end
}

// Key tiles in the order in which they are worked on; they are dealt to the groups of all shares in turn.
__device__ __forceinline__ int first_tile_of(const Work& work, int group) {
  return work.first_tile + work.split * groups + group;
}
constexpr int tile_step = groups * kv_split;

__device__ __forceinline__ int first_key_of(int i, const Work& work) {
  return (kv_order == KeyOrder::forward ? i : work.first_tile + work.tiles - 1 - i) * tile_k;
}
