//% if v_path == 'given'
// Copies the keys into a workspace whose heads have a multiple of four rows: only for an S that is none.
extern "C" __global__ void __launch_bounds__(128)
    fp8_sdpa_align_keys(const e4m3* __restrict__ k, e4m3* __restrict__ aligned_k, int S) {
  if constexpr (pdl != DependentLaunch::none) wait_for_launch_ahead();
  constexpr int row_chunks = head_dim / 16;
  const int row = blockIdx.x * (128 / row_chunks) + threadIdx.x / row_chunks;
  const int chunk = threadIdx.x % row_chunks;
  const int rows = (S + 3) / 4 * 4;
  if (row >= rows) return;
  uint4 codes = make_uint4(0, 0, 0, 0);
  if (row < S) codes = load_global(k + ((long long)blockIdx.y * S + row) * head_dim + chunk * 16);
  store_global(aligned_k + ((long long)blockIdx.y * rows + row) * head_dim + chunk * 16, codes);
}
//% end
