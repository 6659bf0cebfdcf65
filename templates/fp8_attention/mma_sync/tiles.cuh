// Tiles in shared memory: rows of head_dim codes in 16-byte chunks. Rows past the end are zero, so that a product with
// them is defined and harmless.
constexpr int row_chunks = head_dim / 16;
constexpr int row_bytes = ${row_bytes};

__device__ __forceinline__ shared_address chunk_address(shared_address tile, int row, int chunk) {
  return tile + ${smem_layout}_offset<head_dim>(row, chunk);
}

// Where the rows of a work's queries are.
struct QueryRows {
  const e4m3* q;
  const Work& work;
  const Problem& problem;

  __device__ __forceinline__ const e4m3* row(int row) const { return q + problem.query_place(work, row); }
};

// By value from the caller: elements from a key to the next, of a head, of a batch or a page.
struct KeyStrides {
  long long row;
  long long head;
  long long batch;
};

// Where the rows of its keys or values are.
struct KeyRows {
  const e4m3* keys;
  const Work& work;
  const Problem& problem;
  const KeyStrides& strides;

  __device__ __forceinline__ const e4m3* row(int key) const {
//% if page > 0
    const int pages = (problem.S_kv + ${page - 1}) / ${page};
    const long long batch = problem.page_table[work.batch * pages + key / ${page}];
    const int row = key % ${page};
//% elif cu_seqlens
    const long long batch = 0;
    const int row = work.first_key + key;
//% else
    const long long batch = work.batch;
    const int row = key;
//% end
    return keys + batch * strides.batch + work.kv_head * strides.head + row * strides.row;
  }
};

// Copies `rows` rows from row `first` on of those that end at `end`; `thread` of `copiers` takes part.
template <int rows, int copiers, typename Rows>
__device__ __forceinline__ void copy_tile(shared_address tile, const Rows& matrix, int first, int end, int thread) {
#pragma unroll
  for (int i = 0; i < (rows * row_chunks + copiers - 1) / copiers; ++i) {
    const int item = thread + i * copiers;
    const int row = item / row_chunks;
    const int chunk = item % row_chunks;
    if (rows * row_chunks % copiers != 0 && row >= rows) break;
    const bool there = first + row < end;
    copy_async(chunk_address(tile, row, chunk), matrix.row(there ? first + row : 0) + chunk * 16, there);
  }
}
