// Tiles of codes of 8 bits as f16 numbers in shared memory, for nvcuda::wmma: rows of head_dim numbers, tile_pitch
// apart. The including file has decode_in_order(decoder, codes, first, second), which makes two pairs of numbers of
// four codes, and head_dim, tile_pitch and threads.
#include <cuda_fp16.h>
#include <mma.h>

namespace wmma = nvcuda::wmma;
typedef wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> RowOperand;
typedef wmma::fragment<wmma::accumulator, 16, 16, 16, float> Sums;

// 16 codes to 16 numbers.
template <typename Decoder>
__device__ __forceinline__ void decode_chunk(__half* to, uint4 codes, const Decoder& decoder) {
  const u32 words[4] = {codes.x, codes.y, codes.z, codes.w};
  u32 numbers[8];
#pragma unroll
  for (int i = 0; i < 4; ++i) decode_in_order(decoder, words[i], numbers[2 * i], numbers[2 * i + 1]);
  reinterpret_cast<uint4*>(to)[0] = make_uint4(numbers[0], numbers[1], numbers[2], numbers[3]);
  reinterpret_cast<uint4*>(to)[1] = make_uint4(numbers[4], numbers[5], numbers[6], numbers[7]);
}

// Decodes `rows` rows that begin at `codes`, in global or shared memory; rows from `rows_there` on are not read and
// become zeros, whatever code stands for zero. Thread `threadIdx.x` of `threads` takes part.
template <int rows, typename Decoder>
__device__ __forceinline__ void decode_tile(__half* tile, const unsigned char* codes, int rows_there,
                                            const Decoder& decoder) {
  constexpr int row_chunks = head_dim / 16;
#pragma unroll 4  // chunks on their way at a time
  for (int item = threadIdx.x; item < rows * row_chunks; item += threads) {
    const int row = item / row_chunks;
    const int chunk = item % row_chunks;
    __half* to = tile + row * tile_pitch + chunk * 16;
    if (row < rows_there) {
      decode_chunk(to, *reinterpret_cast<const uint4*>(codes + (long long)row * head_dim + chunk * 16), decoder);
    } else {
      reinterpret_cast<uint4*>(to)[0] = make_uint4(0, 0, 0, 0);
      reinterpret_cast<uint4*>(to)[1] = make_uint4(0, 0, 0, 0);
    }
  }
}
//% if copy == 'cp_async'

// Brings the codes of `rows` rows to shared memory, one row behind the other.
template <int rows>
__device__ __forceinline__ void copy_codes(unsigned char* to, const unsigned char* codes, int rows_there) {
#pragma unroll 4
  for (int at = threadIdx.x * 16; at < rows * head_dim; at += threads * 16) {
    const bool there = at < rows_there * head_dim;
    copy_async(shared_address_of(to + at), there ? codes + at : codes, there);
  }
}
//% end
