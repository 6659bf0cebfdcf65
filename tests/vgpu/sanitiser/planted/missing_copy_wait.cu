// run: --block 32 --arg out=float[32]:unset --arg in=float[32]:iota
// finds: unwaited_copy line 10: while its own cp.async.ca.shared.global in line 8 is under way
// finds: unwaited_copy line 8: its thread ends without having waited
#include <cuda_pipeline.h>
__global__ void stage(float* out, const float* in) {
  __shared__ float tile[32];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&tile[i], &in[i], 4);
  __pipeline_commit();
  out[i] = tile[i];
}
