// Value tiles as operands of the second product, which needs the keys innermost: the caller has transposed V,
// so that nothing is left to transpose. A row is one head dimension, its keys padded to a multiple of 16.
//   - A lane gets four neighbouring keys a register; the keys are dealt out to the scores so that its weights
//     are those of the same keys (key_at), and need no exchange.
//   - Of 16 rows, those at places 4 quad + 0..1 go to one product and those at 4 quad + 2..3 to the next, so
//     acc_o[2 b][0..1], acc_o[2 b + 1][0..1] are columns 16 b + 4 quad + 0..3 of an output row.
// Keys past the end are zero, those in the padding too, whatever it holds: a weight of zero does not silence a NaN.

// Blocks of 16 columns whose values come at once for a key step.
constexpr int load_blocks = copy != Copy::direct && f16_weights ? 2 : 1;

// The first `count` of four codes, the others zero.
__device__ __forceinline__ e4m3x4 first_codes(e4m3x4 codes, int count) {
  return count >= 4 ? codes : count <= 0 ? 0 : codes & ((1u << 8 * count) - 1);
}

// What a lane holds of a value tile: of each 16 keys and each product's column the lane's four keys.
typedef u32 RegisterValues[tile_k / 16][o_tiles];

__device__ __forceinline__ void load_value_tile(RegisterValues& values, const e4m3* v, int first, int end,
                                                int lane) {
#pragma unroll
  for (int n = 0; n < o_tiles; ++n) {
    const e4m3* row = v + DealtInPairs::row(8 * n + lane / 4) * padded(end);
#pragma unroll
    for (int step = 0; step < tile_k / 16; step += lane_keys / 4) {
      const int key = first + 16 * step + lane_keys * (lane % 4);
      if constexpr (lane_keys == 4) {
        values[step][n] = key < end ? load_global_u32(row + key) : 0;
      } else if constexpr (lane_keys == 8) {
        const uint2 codes = key < end ? load_global_u32x2(row + key) : make_uint2(0, 0);
        values[step][n] = codes.x;
        values[step + 1][n] = codes.y;
      } else {
        const uint4 codes = key < end ? load_global(row + key) : make_uint4(0, 0, 0, 0);
        values[step][n] = codes.x;
        values[step + 1][n] = codes.y;
        values[step + 2][n] = codes.z;
        values[step + 3][n] = codes.w;
      }
    }
  }
}

// What pads a tile's keys, if it has the last ones, becomes zero.
__device__ __forceinline__ void ready_values(RegisterValues& values, int first_key, int end, int lane) {
  if (first_key + tile_k <= end) return;
#pragma unroll
  for (int step = 0; step < tile_k / 16; ++step) {
    constexpr int span = lane_keys / 4;  // steps that share a load
    const int key = step / span * 16 * span + lane_keys * (lane % 4) + step % span * 4;
#pragma unroll
    for (int n = 0; n < o_tiles; ++n) values[step][n] = first_codes(values[step][n], end - first_key - key);
  }
}

__device__ __forceinline__ void load_values(ValueBlock (&values)[load_blocks], const RegisterValues& tile, int key,
                                            int block, int) {
  const u32(&first)[o_tiles] = tile[key / 16];
  if constexpr (f16_weights) {
    set_block(values[0], first[2 * block], first[2 * block + 1]);
  } else {
    const u32(&second)[o_tiles] = tile[key / 16 + 1];
    set_block(values[0], first[2 * block], second[2 * block], first[2 * block + 1], second[2 * block + 1]);
  }
}

constexpr int value_chunks = tile_k / 16;  // chunks of 16 keys in a row

__device__ __forceinline__ shared_address value_address(shared_address v_tile, int row, int chunk) {
  return v_tile + ${smem_layout}_offset<tile_k>(row, chunk);
}

__device__ __forceinline__ void fetch_value_tile(uint4 (&codes)[prefetched_chunks], const e4m3* v, int first,
                                             int end, int thread) {
#pragma unroll
  for (int i = 0; i < prefetched_chunks; ++i) {
    const int item = thread + i * group_threads;
    const int row = item / value_chunks;
    const int key = first + item % value_chunks * 16;
    codes[i] = make_uint4(0, 0, 0, 0);
    if (row < head_dim && key < end) codes[i] = load_global(v + DealtInPairs::row(row) * padded(end) + key);
  }
}

__device__ __forceinline__ void put_values(shared_address v_tile, const uint4 (&codes)[prefetched_chunks],
                                           int thread) {
#pragma unroll
  for (int i = 0; i < prefetched_chunks; ++i) {
    const int item = thread + i * group_threads;
    const int row = item / value_chunks;
    if (row < head_dim) store_shared(value_address(v_tile, row, item % value_chunks), codes[i]);
  }
}

// The first `bytes` of 16, the others zero; of none nothing is read, wherever `from` points.
__device__ __forceinline__ void copy_start_async(shared_address to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

__device__ __forceinline__ void copy_values(shared_address v_tile, const e4m3* v, int first, int end,
                                            int thread) {
#pragma unroll
  for (int i = 0; i < (head_dim * value_chunks + group_threads - 1) / group_threads; ++i) {
    const int item = thread + i * group_threads;
    const int row = item / value_chunks;
    const int chunk = item % value_chunks;
    if (head_dim * value_chunks % group_threads != 0 && row >= head_dim) break;
    const int key = first + chunk * 16;
    const e4m3* source = v + DealtInPairs::row(row) * padded(end) + key;
    if constexpr (copy == Copy::cp_async) {
      copy_start_async(value_address(v_tile, row, chunk), source, max(0, min(16, end - key)));
    } else {
      store_shared(value_address(v_tile, row, chunk), key < end ? load_global(source) : make_uint4(0, 0, 0, 0));
    }
  }
}

// Copies of whole chunks bring what pads the last tile's keys: it becomes zero, in each row's chunk with the first.
__device__ __forceinline__ shared_address ready_values(shared_address v_tile, shared_address, int first_key, int end,
                                                       int group, int thread, int, int) {
  if (copy != Copy::plain || first_key + tile_k <= end) return v_tile;
  const int keys = end - first_key;
#pragma unroll 1
  for (int row = thread; row < head_dim; row += group_threads) {
    const shared_address chunk = value_address(v_tile, row, keys / 16);
    const uint4 codes = load_shared(chunk);
    const int left = keys % 16;
    store_shared(chunk, make_uint4(first_codes(codes.x, left), first_codes(codes.y, left - 4),
                                   first_codes(codes.z, left - 8), first_codes(codes.w, left - 12)));
  }
  sync_group(group);
  return v_tile;
}

__device__ __forceinline__ void load_values(ValueBlock (&values)[load_blocks], shared_address v_tile, int key,
                                            int block, int lane) {
  u32 codes[4];
  if constexpr (f16_weights) {
    // The 16 rows of a block at 16 keys, then those of the next.
    load_matrices(codes, value_address(v_tile, 16 * block + lane, key / 16));
#pragma unroll
    for (int b = 0; b < load_blocks; ++b) set_block(values[b], codes[2 * b], codes[2 * b + 1]);
  } else {
    // The first eight rows of a block at twice 16 keys, then the other eight.
    load_matrices(codes, value_address(v_tile, 16 * block + lane / 16 * 8 + lane % 8, key / 16 + lane / 8 % 2));
    set_block(values[0], codes[0], codes[1], codes[2], codes[3]);
  }
}

// A lane's part `part` of an output row: four neighbouring columns from column_of(part, quad) on.
__device__ __forceinline__ int column_of(int part, int quad) { return 16 * part + 4 * quad; }

__device__ __forceinline__ float4 part_of(const float (&acc_o)[o_tiles][4], int r, int part) {
  const float(&first)[4] = acc_o[2 * part];
  const float(&second)[4] = acc_o[2 * part + 1];
  return make_float4(first[2 * r], first[2 * r + 1], second[2 * r], second[2 * r + 1]);
}
