// Value tiles as operands of the second product, which needs the keys innermost; but values lie with the head
// dimension innermost.
//
// In registers: a lane loads ${D / 8} neighbouring columns of keys {0, 1, 8, 9} + 2 quad of each 16 and transposes them
// byte by byte: column c of its columns goes to product c. Two consequences, both free:
//   - e4m3 products take the keys in that order, which is the order in which a lane's scores lie: weights
//     need no exchange;
//   - acc_o[c][0..1] are columns ${D / 8} (2 quad + 0..1) + c: a lane ends with neighbouring columns of a row.
//
// In shared memory: a transposing ldmatrix moves pairs of codes: a lane gets columns 2 row, 2 row + 1 (row = lane / 4)
// of keys 2 quad, 2 quad + 1; picking every second byte of the pairs of keys 0-7 and 8-15 gives one column of keys {2
// quad, 2 quad + 1, 8 + 2 quad, 9 + 2 quad}. Two consequences, both free:
//   - e4m3 products take the keys in that order, which is the order in which a lane's scores lie: weights
//     need no exchange;
//   - of 16 columns, a product has the even ones and the next one the odd ones, so acc_o[2 b][0],
//     acc_o[2 b + 1][0], acc_o[2 b][1], acc_o[2 b + 1][1] are columns 16 b + 4 quad + 0, 1, 2, 3 of a row.

enum class ValueOperand { ldmatrix, fragments, gather };
constexpr ValueOperand v_operand = ValueOperand::${v_operand};

// Blocks of 16 columns whose values come at once for a key step.
constexpr int load_blocks = copy == Copy::direct || f16_weights ? 2 : 1;

constexpr int lane_words = head_dim / 32;  // words of a row that a lane holds
// What a lane holds of a value tile: of keys {0, 1, 8, 9} + 2 quad of each 16.
typedef u32 RegisterValues[tile_k / 16][4][lane_words];

__device__ __forceinline__ void load_value_tile(RegisterValues& values, const e4m3* v, int first, int end,
                                                int lane) {
#pragma unroll
  for (int step = 0; step < tile_k / 16; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = first + 16 * step + 2 * (lane % 4) + i % 2 + i / 2 * 8;
      u32(&words)[lane_words] = values[step][i];
#pragma unroll
      for (int word = 0; word < lane_words; ++word) words[word] = 0;
      if (key >= end) continue;
      const e4m3* source = v + (long long)key * head_dim + lane / 4 * (head_dim / 8);
      if constexpr (head_dim == 64) {
        const uint2 codes = load_global_u32x2(source);
        words[0] = codes.x;
        words[1] = codes.y;
      } else {
#pragma unroll
        for (int word = 0; word < lane_words; word += 4) {
          const uint4 codes = load_global(source + 4 * word);
          words[word] = codes.x;
          words[word + 1] = codes.y;
          words[word + 2] = codes.z;
          words[word + 3] = codes.w;
        }
      }
    }
  }
}

// Words `word` of four keys, four columns each: column by column, four keys each.
__device__ __forceinline__ void transpose_word(e4m3x4 (&columns)[4], const u32 (&keys)[4][lane_words],
                                               int word) {
  const u32 first_low = pick_bytes<0x5140>(keys[0][word], keys[1][word]);
  const u32 first_high = pick_bytes<0x7362>(keys[0][word], keys[1][word]);
  const u32 second_low = pick_bytes<0x5140>(keys[2][word], keys[3][word]);
  const u32 second_high = pick_bytes<0x7362>(keys[2][word], keys[3][word]);
  columns[0] = pick_bytes<0x5410>(first_low, second_low);
  columns[1] = pick_bytes<0x7632>(first_low, second_low);
  columns[2] = pick_bytes<0x5410>(first_high, second_high);
  columns[3] = pick_bytes<0x7632>(first_high, second_high);
}

__device__ __forceinline__ void load_values(ValueBlock (&values)[load_blocks], const RegisterValues& tile, int key,
                                            int block, int) {
  e4m3x4 first[4];
  transpose_word(first, tile[key / 16], block / 2);
  if constexpr (f16_weights) {
#pragma unroll
    for (int b = 0; b < load_blocks; ++b) set_block(values[b], first[2 * b], first[2 * b + 1]);
  } else {
    e4m3x4 second[4];
    transpose_word(second, tile[key / 16 + 1], block / 2);
#pragma unroll
    for (int b = 0; b < load_blocks; ++b) {
      set_block(values[b], first[2 * b], second[2 * b], first[2 * b + 1], second[2 * b + 1]);
    }
  }
}

// Rows past the end are zero as they come.
__device__ __forceinline__ void ready_values(const RegisterValues&, int, int, int) {}

__device__ __forceinline__ void copy_values(shared_address v_tile, const e4m3* v, int first, int end,
                                            int thread) {
  copy_tile<tile_k, group_threads>(v_tile, v, first, end, thread);
}

__device__ __forceinline__ void fetch_value_tile(uint4 (&codes)[prefetched_chunks], const e4m3* v, int first,
                                             int end, int thread) {
  fetch_tile(codes, v, first, end, thread);
}

__device__ __forceinline__ void put_values(shared_address v_tile, const uint4 (&codes)[prefetched_chunks],
                                           int thread) {
  put_tile(v_tile, codes, thread);
}

// Column `column` of keys {0, 1, 8, 9} + `key` + 2 quad, byte by byte.
__device__ __forceinline__ e4m3x4 gather_column(shared_address v_tile, int key, int column, int lane) {
  const int first = key + 2 * (lane % 4);
  e4m3x4 codes = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = first + i % 2 + 8 * (i / 2);
    codes |= load_shared_u8(chunk_address(v_tile, row, column / 16) + column % 16) << (8 * i);
  }
  return codes;
}

__device__ __forceinline__ void gather_values(ValueBlock (&values)[load_blocks], shared_address v_tile, int key,
                                              int block, int lane) {
#pragma unroll
  for (int b = 0; b < load_blocks; ++b) {
    const int column = 16 * (block + b) + 2 * (lane / 4);
    if constexpr (f16_weights) {
      const e4m3x4 even = gather_column(v_tile, key, column, lane);
      const e4m3x4 odd = gather_column(v_tile, key, column + 1, lane);
      set_block(values[b], even, odd);
    } else {
      values[b][0] = gather_column(v_tile, key, column, lane);
      values[b][1] = gather_column(v_tile, key + 16, column, lane);
      values[b][2] = gather_column(v_tile, key, column + 1, lane);
      values[b][3] = gather_column(v_tile, key + 16, column + 1, lane);
    }
  }
}

__device__ __forceinline__ void transpose_values(ValueBlock (&values)[load_blocks], shared_address v_tile,
                                                 int key, int block, int lane) {
  u32 pairs[4];
  if constexpr (f16_weights) {
    // Keys 0-7 and 8-15 of a block of 16 columns, then of the next.
    load_matrices_transposed(pairs, chunk_address(v_tile, key + lane % 16, block + lane / 16));
#pragma unroll
    for (int b = 0; b < load_blocks; ++b) {
      const e4m3x4 even = pick_bytes<0x6420>(pairs[2 * b], pairs[2 * b + 1]);
      const e4m3x4 odd = pick_bytes<0x7531>(pairs[2 * b], pairs[2 * b + 1]);
      set_block(values[b], even, odd);
    }
  } else {
    load_matrices_transposed(pairs, chunk_address(v_tile, key + lane, block));
    const e4m3x4 even0 = pick_bytes<0x6420>(pairs[0], pairs[1]);
    const e4m3x4 even1 = pick_bytes<0x6420>(pairs[2], pairs[3]);
    const e4m3x4 odd0 = pick_bytes<0x7531>(pairs[0], pairs[1]);
    const e4m3x4 odd1 = pick_bytes<0x7531>(pairs[2], pairs[3]);
    set_block(values[0], even0, even1, odd0, odd1);
  }
}

// Each lane's operands lie together, 16 bytes, in the order of the lanes: read and written without bank
// conflicts.
__device__ __forceinline__ shared_address fragment_address(shared_address fragments, int key, int block,
                                                           int lane) {
  return fragments + (key / key_step * column_blocks + block) * 512 + lane * 16;
}

// The warps of a group share the work of transposing a tile.
__device__ __forceinline__ void transpose_tile(shared_address fragments, shared_address v_tile, int warp_q,
                                               int lane) {
  constexpr int loads = tile_k / key_step * column_blocks / load_blocks;
#pragma unroll
  for (int i = 0; i < (loads + warps_q - 1) / warps_q; ++i) {
    const int load = warp_q + i * warps_q;
    if (loads % warps_q != 0 && load >= loads) break;
    const int key = load * load_blocks / column_blocks * key_step;
    const int block = load * load_blocks % column_blocks;
    ValueBlock values[load_blocks];
    transpose_values(values, v_tile, key, block, lane);
#pragma unroll
    for (int b = 0; b < load_blocks; ++b) {
      store_shared(fragment_address(fragments, key, block + b, lane),
                   make_uint4(values[b][0], values[b][1], values[b][2], values[b][3]));
    }
  }
}

__device__ __forceinline__ void load_fragments(ValueBlock (&values)[load_blocks], shared_address fragments, int key,
                                               int block, int lane) {
#pragma unroll
  for (int b = 0; b < load_blocks; ++b) {
    const uint4 operands = load_shared(fragment_address(fragments, key, block + b, lane));
    set_block(values[b], operands.x, operands.y, operands.z, operands.w);
  }
}

// The tile that products read: the one that came, or its fragments, which lie behind all tiles.
__device__ __forceinline__ shared_address ready_values(shared_address v_tile, shared_address fragments, int, int,
                                                       int group, int, int warp_q, int lane) {
  if constexpr (v_operand == ValueOperand::fragments) {
    transpose_tile(fragments, v_tile, warp_q, lane);
    sync_group(group);
    return fragments;
  } else {
    return v_tile;
  }
}

__device__ __forceinline__ void load_values(ValueBlock (&values)[load_blocks], shared_address tile, int key, int block,
                                            int lane) {
  if constexpr (v_operand == ValueOperand::gather) {
    gather_values(values, tile, key, block, lane);
  } else if constexpr (v_operand == ValueOperand::fragments) {
    load_fragments(values, tile, key, block, lane);
  } else {
    transpose_values(values, tile, key, block, lane);
  }
}

// A lane's part `part` of an output row: four neighbouring columns from column_of(part, quad) on.
__device__ __forceinline__ int column_of(int part, int quad) {
  return copy == Copy::direct ? head_dim / 4 * quad + 4 * part : 16 * part + 4 * quad;
}

__device__ __forceinline__ float4 part_of(const float (&acc_o)[o_tiles][4], int r, int part) {
  if constexpr (copy == Copy::direct) {
    const int tile = 4 * part % o_tiles;
    const int i = 2 * r + 4 * part / o_tiles;
    return make_float4(acc_o[tile][i], acc_o[tile + 1][i], acc_o[tile + 2][i], acc_o[tile + 3][i]);
  }
  const float(&even)[4] = acc_o[2 * part];
  const float(&odd)[4] = acc_o[2 * part + 1];
  return make_float4(even[2 * r], odd[2 * r], even[2 * r + 1], odd[2 * r + 1]);
}
