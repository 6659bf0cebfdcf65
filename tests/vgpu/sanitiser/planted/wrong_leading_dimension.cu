// run: --block 32 --arg out=float[16,16]:unset --arg a=half[16,16]:normal
// finds: uninitialised line 14: byte 
// Rows are written 24 elements apart and loaded 32 elements apart.
#include <mma.h>
__global__ void load_fragment(float* out, const half* a) {
  __shared__ __align__(32) half tile[16 * 32];
  for (int i = threadIdx.x; i < 256; i += 32) tile[i / 16 * 24 + i % 16] = a[i];
  __syncwarp();
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, tile, 32);
  wmma::fill_fragment(fb, __float2half(1.0f));
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(out, fc, 16, wmma::mem_row_major);
}
