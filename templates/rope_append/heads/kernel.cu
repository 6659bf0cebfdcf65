// rope_append/heads: queries and keys are rotated, keys and values appended to a paged cache of ${cache}. A thread has
// two packets of a head, and those of the same columns of other heads of its token.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/grid_dependency.cuh"

#include "include/elements.cuh"
#include "rope_append/rotation.cuh"

constexpr int cta_heads = ${cta_heads};                   // of a token, side by side
constexpr int cta_tokens = ${cta_tokens};
constexpr int threads = head_threads * cta_heads * cta_tokens;
constexpr int batch = ${batch};                           // heads that a thread has on their way at a time
constexpr int page = ${page};
constexpr bool appends = ${append};
constexpr bool in_place = ${in_place};                    // queries take their own place
constexpr bool fused = ${layout == 'fused'};              // queries, keys and values of a token lie behind each other
constexpr bool heads_outside = ${cache_layout == 'hnd'};  // a page has its tokens head by head
constexpr bool codes = ${cache == 'e4m3'};                // the cache has E4M3 codes
constexpr bool scale_of_head = ${scales == 'head'};
constexpr bool heads_first = ${first_load == 'heads'};    // they are asked for before position, slot and cosines
constexpr bool persistent = ${ctas_per_sm > 0};           // CTAs walk over all tokens
constexpr bool waits_for_launches = ${dependent_launch && pdl};
typedef ${cache == 'e4m3' ? 'e4m3' : 'half_bits'} Cached;

struct Sizes {
  int tokens, heads, kv_heads, slots;
  // Heads of queries, then of keys, then of values.
  __device__ __forceinline__ int all_heads() const { return appends ? heads + 2 * kv_heads : heads; }
  __device__ __forceinline__ long long token_stride(int own_heads) const {
    return (long long)(fused ? heads + 2 * kv_heads : own_heads) * head_dim;
  }
};

// The columns of a thread's two packets. Of elements that stay, too, the second is half of them further.
struct Columns {
  int first, second;
  bool rotate;
};

__device__ __forceinline__ Columns columns_of(int item) {
  constexpr int rotary_threads = rotary / (2 * packet_elements);
  if (rotary == head_dim || item < rotary_threads) {
    return {item * packet_elements, item * packet_elements + rotary / 2, true};
  }
  const int first = rotary + (item - rotary_threads) * packet_elements;
  return {first, first + (head_dim - rotary) / 2, false};
}

struct Piece {
  HeadPacket first, second;
};

struct Sources {
  const Element *q, *k, *v;
};

__device__ __forceinline__ Piece load_piece(const Sources& from, const Sizes& sizes, int token, int head,
                                            const Columns& columns) {
  Piece piece;
  if (head < sizes.heads) {
    const Element* row = from.q + token * sizes.token_stride(sizes.heads) + head * head_dim;
    if constexpr (in_place) {
      load_own(piece.first, row + columns.first);
      load_own(piece.second, row + columns.second);
    } else {
      load_once(piece.first, row + columns.first);
      load_once(piece.second, row + columns.second);
    }
  } else {
    const bool is_key = head < sizes.heads + sizes.kv_heads;
    const int kv_head = head - sizes.heads - (is_key ? 0 : sizes.kv_heads);
    const Element* row = (is_key ? from.k : from.v) + token * sizes.token_stride(sizes.kv_heads) + kv_head * head_dim;
    load_once(piece.first, row + columns.first);
    load_once(piece.second, row + columns.second);
  }
  return piece;
}

__device__ __forceinline__ void unpack_piece(HeadValues& values, const Piece& piece) {
  unpack(piece.first, *(float(*)[packet_elements])values);
  unpack(piece.second, *(float(*)[packet_elements])(values + packet_elements));
}

__device__ __forceinline__ void store_elements(half_bits* row, const Columns& columns, const HeadValues& values) {
  Piece piece;
  pack(piece.first, *(const float(*)[packet_elements])values);
  pack(piece.second, *(const float(*)[packet_elements])(values + packet_elements));
  store(row + columns.first, piece.first);
  store(row + columns.second, piece.second);
}

//% if cache == 'e4m3'
__device__ __forceinline__ void store_codes(e4m3* to, const float* values, float scale) {
  Packet<packet_elements> packet;
#pragma unroll
  for (int i = 0; i < packet_elements; i += 4) {
    packet.word[i / 4] = join(e4m3x2_from_f32(values[i] / scale, values[i + 1] / scale),
                              e4m3x2_from_f32(values[i + 2] / scale, values[i + 3] / scale));
  }
  store(to, packet);
}
//% end

// A head of a token in a cache.
struct Appended {
  int slot, head;
  __device__ __forceinline__ long long row(const Sizes& sizes) const {
    if constexpr (!heads_outside) return (long long)slot * sizes.kv_heads + head;
    return ((long long)(slot / page) * sizes.kv_heads + head) * page + slot % page;
  }
};

__device__ __forceinline__ void append(Cached* cache, const float* scales, const Sizes& sizes, Appended at,
                                       const Columns& columns, const HeadValues& values) {
  Cached* row = cache + at.row(sizes) * head_dim;
  if constexpr (codes) {
//% if cache == 'e4m3'
    const float scale = scales[scale_of_head ? at.head : 0];
    store_codes(row + columns.first, values, scale);
    store_codes(row + columns.second, values + packet_elements, scale);
//% end
  } else {
    store_elements((half_bits*)row, columns, values);
  }
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) rope_append(
    const Element* q, const Element* __restrict__ k, const Element* __restrict__ v, const int* __restrict__ positions,
    const float* __restrict__ cos_sin, const int* __restrict__ slots, const int* __restrict__ slots_in_order,
    const float* __restrict__ k_scale, const float* __restrict__ v_scale, Element* q_in_place, Element* q_rotated,
    Cached* __restrict__ k_cache, Cached* __restrict__ v_cache, const Sizes sizes) {
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const int item = threadIdx.x % head_threads;
  const int first_head = blockIdx.y * cta_heads + threadIdx.x / head_threads % cta_heads;
  const int head_step = cta_heads * gridDim.y;
  const Columns columns = columns_of(item);
  const Sources from = {in_place ? q_in_place : q, k, v};
  for (int token = blockIdx.x * cta_tokens + threadIdx.x / (head_threads * cta_heads); token < sizes.tokens;
       token += gridDim.x * cta_tokens) {
    Piece pieces[batch];
    const auto load = [&](int first) {
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int head = first + i * head_step;
        if (head < sizes.all_heads()) pieces[i] = load_piece(from, sizes, token, head, columns);
      }
    };
    if constexpr (heads_first) load(first_head);
    Angles angles;
    if (columns.rotate) angles = angles_of(positions[token], cos_sin, item);
    const int slot = appends ? ${slot_order == 'random' ? 'slots' : 'slots_in_order'}[token] : -1;
#pragma unroll 1
    for (int first = first_head; first < sizes.all_heads(); first += batch * head_step) {
      if (!heads_first || first > first_head) load(first);
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int head = first + i * head_step, kv_head = head - sizes.heads;
        if (head >= sizes.all_heads()) break;
        HeadValues values;
        unpack_piece(values, pieces[i]);
        if (columns.rotate && kv_head < sizes.kv_heads) rotate(values, angles);
        if (kv_head < 0) {
          Element* row = (in_place ? q_in_place : q_rotated) +
                         (in_place ? token * sizes.token_stride(sizes.heads) : (long long)token * sizes.heads * head_dim);
          store_elements(row + head * head_dim, columns, values);
        } else if (slot >= 0 && slot < sizes.slots) {
          const bool is_key = kv_head < sizes.kv_heads;
          const Appended at = {slot, is_key ? kv_head : kv_head - sizes.kv_heads};
          append(is_key ? k_cache : v_cache, is_key ? k_scale : v_scale, sizes, at, columns, values);
        }
      }
    }
    if constexpr (!persistent) break;
  }
}
