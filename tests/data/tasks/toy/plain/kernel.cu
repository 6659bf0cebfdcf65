extern "C" __global__ void toy(const float* a, const float* b, float* c, int N) {
  volatile int idle = 0;
  for (int i = 0; i < ${padding} * 8; ++i) idle = idle + 1;
//% for item in 0..items
//%   if order == 'strided'
  const int i${item} = blockIdx.x * ${tile} + ${item} * ${threads} + threadIdx.x;
//%   else
  const int i${item} = blockIdx.x * ${tile} + threadIdx.x * ${items} + ${item};
//%   end
  if (i${item} < N) c[i${item}] = a[i${item}] ${wrong ? '-' : '+'} b[i${item}];
//% end
}
