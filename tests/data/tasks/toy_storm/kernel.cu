extern "C" __device__ int printf(const char*, ...);
//% if harm == 'recursion'
__device__ __noinline__ int deeper(int n, volatile int* p) { return p[n & 7] == 12345 ? 0 : deeper(n + 1, p) + p[n & 3]; }
//% end
extern "C" __global__ void storm(float* a, const float* b, float* c, char* hoard, int N) {
  const int i = blockIdx.x * 64 + threadIdx.x;
//% if harm == 'trap'
  asm volatile("trap;");
//% elif harm == 'wild_write'
  *(volatile float*)(12345678900ull * (i + 1)) = 1;
//% elif harm == 'wild_read'
  c[i] = *(volatile float*)8;
//% elif harm == 'overrun'
  for (int j = 0; j < 1000; ++j) c[i + j * 64] = 0;
//% elif harm == 'misaligned'
  *(volatile float*)((char*)c + 1) = 1;
//% elif harm == 'loop'
  for (volatile int turns = 0; turns >= 0;) turns = turns & 7;
//% elif harm == 'deadlock'
  asm volatile("bar.sync 1, 1024;");
//% elif harm == 'shout'
  for (int j = 0; j < 100; ++j) printf("%d %s\n", i, "a long line that nobody wants to read, again and again and again");
//% elif harm == 'poison'
  if (i < N) { a[i] = __int_as_float(0x7fc00000); c[i] = a[i] + b[i]; }
//% elif harm == 'no_memory'
  hoard[i] = 1;
//% elif harm == 'no_code'
  this does not compile
//% elif harm == 'recursion'
  c[i] = deeper(i, (volatile int*)a);
//% elif harm == 'stack'
  volatile float large[32768];
  large[(i * N) & 32767] = b[0];
  c[i] = large[i & 32767];
//% else
  c[i] = 0;
//% end
}
