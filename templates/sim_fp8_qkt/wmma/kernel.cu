// sim_fp8_qkt/wmma: s = q k^T${scaled ? ' / sqrt(D)' : ''} on affine codes of 8 bits with nvcuda::wmma, ${out} scores. A CTA has ${tile_m} query rows of
// one head and works through ${walk} tile(s) of ${tile_n} keys, which become f16 numbers in shared memory.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/cp_async.cuh"
#include "include/f16x2.cuh"
#include "include/grid_dependency.cuh"
#include "include/affine_codes.cuh"

#include "include/scores/sizes.cuh"
constexpr int tile_pitch = ${tile_pitch};                   // numbers from row to row of a tile
typedef decoders::${dequant} KeyDecoder;

#include "include/affine_wmma.cuh"

#include "include/scores/epilogue.cuh"

#include "include/scores/wmma.cuh"

struct Decoders {
  BytesDecoder query;
  KeyDecoder key;
  float scale;
};

extern "C" __global__ void __launch_bounds__(threads, min_blocks) sim_fp8_qkt(
    const unsigned char* __restrict__ q, const unsigned char* __restrict__ k, const float* __restrict__ q_scales,
    const float* __restrict__ k_scales, const unsigned char* __restrict__ q_zeros,
    const unsigned char* __restrict__ k_zeros, Score* __restrict__ s, int M, int N) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  make_scores(smem_storage, q, k, s, M, N, [&](shared_address table) {
    const int head = blockIdx.z;
//% if dequant == 'table'
    fill_table<threads>(table, k_zeros[scale_index(head)], threadIdx.x);
//% end
    return Decoders{BytesDecoder(q_zeros[scale_index(head)]), KeyDecoder(k_zeros[scale_index(head)], table),
                    score_scale(q_scales, k_scales, head) * KeyDecoder::unit};
  });
}
