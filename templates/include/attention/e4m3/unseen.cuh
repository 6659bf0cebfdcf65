#pragma once
// Masks those of `count` keys from `first_key` on that the rows of a warp do not see. first_row: of the warpgroup.
template <typename Scores>
__device__ __forceinline__ void mask_unseen(Scores& scores, int first_key, int count, const Problem& problem,
                                            const Work& work, int first_row, int warp, int lane) {
  const int rows[2] = {first_row + warp * 16 + lane / 4, first_row + warp * 16 + lane / 4 + 8};
  if (first_key + count > problem.key_end(work, problem.position(first_row))) {
    const int keys[2] = {problem.key_end(work, problem.position(rows[0])) - first_key,
                         problem.key_end(work, problem.position(rows[1])) - first_key};
    mask_scores<Hidden::from>(scores, lane, keys);
  }
  if constexpr (has_window) {
    if (first_key < problem.key_begin(work, problem.position(first_row + 63))) {
      const int keys[2] = {problem.key_begin(work, problem.position(rows[0])) - first_key,
                           problem.key_begin(work, problem.position(rows[1])) - first_key};
      mask_scores<Hidden::before>(scores, lane, keys);
    }
  }
}
