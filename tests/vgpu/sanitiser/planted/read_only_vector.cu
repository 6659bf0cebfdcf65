// run: --block 32 --arg x=float[128]:iota
// finds: stale_read line 5: st.global
// A thread's own element, too: the whole vector is read through the read-only cache, one word of it is written.
__global__ void scale(float* x) {
  const float4 four = __ldg(reinterpret_cast<const float4*>(x) + threadIdx.x);
  x[4 * threadIdx.x + 2] = four.x + four.w;
}
