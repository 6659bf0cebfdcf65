// Rows plus their number, `each` columns a thread. fault 1: the guard asks for the end of the array and not of the row,
// so two blocks write the first columns of the next row, one of them wrongly.
extern "C" __global__ void tail(float* y, const float* x, int rows, int n) {
  const int first = (blockIdx.x * 32 + threadIdx.x) * each, row = blockIdx.y;
  if (first >= n) return;
  for (int i = first; i < first + each; ++i)
    if (fault == 1 ? row * n + i < rows * n : i < n) y[row * n + i] = x[row * n + i] + row;
}
extern "C" __global__ void tail_plain(float* y, const float* x, int rows, int n) {
  for (int i = 0; i < rows * n; ++i) y[i] = x[i] + i / n;
}
