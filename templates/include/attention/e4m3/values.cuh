#pragma once
// The second product in f16: values arrive as rows of e4m3 codes, one key after the other; an f16 wgmma takes its second operand with the columns
// innermost, so that widening is all there is to do. A tile consists of panels of 64 columns, each tile_k rows of
// 128 bytes, swizzled.
// `warps` warps share the tile: each lane widens chunks of 16 codes.
template <int warps>
__device__ __forceinline__ void widen_tile(shared_address operand, shared_address values, int warp, int lane) {
  constexpr int row_chunks = head_dim / 16;
#pragma unroll ${transpose_batch}
  for (int i = warp * 32 + lane; i < tile_k * row_chunks; i += warps * 32) {
    const int key = i / row_chunks;
    const int chunk = i % row_chunks;
    const uint4 codes = load_shared(values + chunk * 16 / row_bytes * (tile_k * row_bytes) +
                                    xor_offset<row_bytes>(key, chunk % (row_bytes / 16)));
    const shared_address panel = operand + chunk / 4 * panel_bytes;
    store_shared(panel + xor_offset<128>(key, chunk % 4 * 2),
                 make_uint4(first_pair(codes.x), second_pair(codes.x), first_pair(codes.y), second_pair(codes.y)));
    store_shared(panel + xor_offset<128>(key, chunk % 4 * 2 + 1),
                 make_uint4(first_pair(codes.z), second_pair(codes.z), first_pair(codes.w), second_pair(codes.w)));
  }
}

// The second product in e4m3: values arrive as rows of codes, too, but an e4m3 wgmma wants the summed dimension, the keys,
// innermost. ldmatrix.trans moves pairs of codes; bytes are put right in registers:
//   keys 0-7  (bytes)  [ key 2q  col 2r | key 2q  col 2r+1 | key 2q+1  col 2r | key 2q+1  col 2r+1 ]   q = lane % 4
//   keys 8-15          [ key 8+2q ..    | ..               | key 9+2q ..      | ..                 ]   r = lane / 4
//     pick 0x6420 -> column 2r   of keys 2q, 2q+1, 8+2q, 9+2q
//     pick 0x7531 -> column 2r+1 of the same keys
// which is the order of keys that pack_weights leaves. Of 16 columns the even ones become rows 0-7 of the transposed
// tile and the odd ones rows 8-15: a thread then ends with four neighbouring columns of the output.
//
// A transposed tile consists of panels of ${panel} keys, each ${D + sum_columns} rows of ${panel} bytes${sum_columns > 0 ? '; the last 8 rows of a panel are ones' : ''}.

struct ValueBlock {  // 32 keys x 16 columns
  int keys;
  int columns;
};

__device__ __forceinline__ ValueBlock value_block(int index) {
  return {index / (head_dim / 16) * 32, index % (head_dim / 16) * 16};
}

__device__ __forceinline__ void load_value_block(u32 (&pairs)[4], shared_address values, ValueBlock block, int lane) {
  load_matrices_transposed(pairs, values + block.columns / row_bytes * (tile_k * row_bytes) +
                                      xor_offset<row_bytes>(block.keys + lane, block.columns % row_bytes / 16));
}

__device__ __forceinline__ void store_value_block(shared_address transposed, const u32 (&pairs)[4], ValueBlock block,
                                                  int lane) {
  const int row = block.columns + lane % 16;            // lanes 8-15: the odd columns
  const int keys = block.keys + lane / 16 * 16;
  const shared_address to = transposed + keys / panel * panel_bytes + xor_offset<panel>(row, keys % panel / 16);
  store_matrices(to, pick_bytes<0x6420>(pairs[0], pairs[1]), pick_bytes<0x7531>(pairs[0], pairs[1]),
                 pick_bytes<0x6420>(pairs[2], pairs[3]), pick_bytes<0x7531>(pairs[2], pairs[3]));
}

// `warps` warps share the blocks; ${transpose_batch} block(s) of a warp are under way at once.
template <int warps>
__device__ __forceinline__ void transpose_tile(shared_address transposed, shared_address values, int warp, int lane) {
  constexpr int blocks = tile_k / 32 * (head_dim / 16);
  constexpr int batch = ${transpose_batch};
#pragma unroll
  for (int first = 0; first < blocks; first += warps * batch) {
    u32 pairs[batch][4];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int index = first + i * warps + warp;
      if (blocks % (warps * batch) == 0 || index < blocks) load_value_block(pairs[i], values, value_block(index), lane);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int index = first + i * warps + warp;
      if (blocks % (warps * batch) == 0 || index < blocks) {
        store_value_block(transposed, pairs[i], value_block(index), lane);
      }
    }
  }
}

// The values of a tile become an operand of the second product; `warps` warps share the work.
template <int warps>
__device__ __forceinline__ void prepare_tile(shared_address operand, shared_address values, int warp, int lane) {
  if constexpr (widened) {
    widen_tile<warps>(operand, values, warp, lane);
  } else {
    transpose_tile<warps>(operand, values, warp, lane);
  }
}

// The operand of the second product, from the first of its columns of `part` on.
__device__ __forceinline__ matrix_descriptor describe_values(shared_address operand, int part) {
  if constexpr (widened) return describe_columns<panel_bytes>(operand);
  if constexpr (!widened) return describe_matrix<panel>(operand + part * part_columns * panel);
}

// A step of the second product, of step_keys keys; `part` of the columns.
template <int step>
__device__ __forceinline__ void multiply_values(float* sums, const u32 (&weights)[weight_registers],
                                                matrix_descriptor values, int part) {
  constexpr int key = step * step_keys;
  constexpr bool accumulate = promote_tiles != 1 || key != 0 && !(promotes_early && key == early_keys);
  if constexpr (widened) {
    multiply_pv_last<true>(sums, weights + 4 * step, along_rows(values, key * 128));
  } else {
    const matrix_descriptor step_values = along_rows(values, key / panel * panel_bytes + key % panel);
    if (part < output_parts - 1) {
      multiply_pv<accumulate>(sums, weights + 4 * step, step_values);
    } else {
      multiply_pv_last<accumulate>(sums, weights + 4 * step, step_values);
    }
  }
}
