// run: --grid 4 --block 64 --arg y=float[256]:unset --arg x=float[256]:iota
// finds: stale_read line 7: st.global.f32 in line 9
// finds: stale_read line 11: st.global.f32 in line 9
#include <cooperative_groups.h>
__global__ void two_steps(float* y, float* x) {
  const int i = blockIdx.x * 64 + threadIdx.x, next = (i + 64) % 256;
  const float before = __ldg(x + next);
  cooperative_groups::this_grid().sync();
  x[i] = before + 1;
  cooperative_groups::this_grid().sync();
  y[i] = __ldg(x + next);
}
