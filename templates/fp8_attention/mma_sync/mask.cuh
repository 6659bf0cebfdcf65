// Masks what 16 rows from `first_row` on must not see of a tile: their score becomes minus infinity, which cannot win and
// gets weight 0.
__device__ __forceinline__ void mask_tile(float (&scores)[score_registers], int first_key, int first_row,
                                          const Work& work, const Problem& problem, int lane) {
  const int latest_begin = has_window ? problem.key_begin(work, problem.position(first_row + 15)) : 0;
  const int earliest_end = problem.key_end(work, problem.position(first_row));
  if (first_key >= latest_begin && first_key + tile_k <= earliest_end) return;
  int begin[2];
  int end[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int position = problem.position(first_row + lane / 4 + 8 * r);
    begin[r] = has_window ? problem.key_begin(work, position) - first_key : 0;
    end[r] = problem.key_end(work, position) - first_key;
  }
#pragma unroll
  for (int i = 0; i < score_registers; ++i) {
    const int key = i / 4 * 8 + lane % 4 * 2 + i % 2;
    const int r = i / 2 % 2;
    if (key < begin[r] || key >= end[r]) scores[i] = __int_as_float(0xff800000);
  }
}
