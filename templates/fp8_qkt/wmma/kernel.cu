// fp8_qkt/wmma: s = (q k^T) q_scale k_scale${scaled ? ' / sqrt(D)' : ''} with e4m3 q, k and one scale
// a ${scales}, ${out} scores. A CTA has ${tile_m} query rows of one head and works through ${walk} tile(s) of ${tile_n} keys,
// which become f16 numbers in shared memory.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/cp_async.cuh"
#include "include/f16x2.cuh"
#include "include/grid_dependency.cuh"

#include "include/e4m3_codes.cuh"

#include "include/scores/sizes.cuh"
constexpr int tile_pitch = ${tile_pitch};                   // numbers from row to row of a tile
//% if dequant == 'convert'
typedef ConvertDecoder QueryDecoder;
typedef ConvertDecoder KeyDecoder;
//% else
typedef BitsDecoder QueryDecoder;
typedef ${dequant == 'table' ? 'TableDecoder' : 'BitsDecoder'} KeyDecoder;
//% end

#include "include/wmma_tiles.cuh"

#include "include/scores/epilogue.cuh"

#include "include/scores/wmma.cuh"

struct Decoders {
  QueryDecoder query;
  KeyDecoder key;
  float scale;
};

extern "C" __global__ void __launch_bounds__(threads, min_blocks) fp8_qkt(
    const e4m3* __restrict__ q, const e4m3* __restrict__ k, const float* __restrict__ q_scale,
    const float* __restrict__ k_scale, Score* __restrict__ s, int M, int N) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  make_scores(smem_storage, q, k, s, M, N, [&](shared_address table) {
//% if dequant == 'table'
    fill_tables<threads>(table, threadIdx.x);
//% end
    const float scale = score_scale(q_scale, k_scale, blockIdx.z) * (QueryDecoder::unit * KeyDecoder::unit);
    return Decoders{QueryDecoder(), KeyDecoder(table), scale};
  });
}
