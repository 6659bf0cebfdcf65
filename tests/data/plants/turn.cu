// Pairs of numbers, each turned by the angle of its column: y = (a cos t - b sin t, a sin t + b cos t).
extern "C" __global__ void turn(float* y, const float* x, const float* angle, int rows, int pairs) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (i >= rows * pairs) return;
  float s, c;
  sincosf(angle[i % pairs], &s, &c);
  const float a = x[2 * i], b = x[2 * i + 1];
  y[2 * i] = a * c - b * s;
  y[2 * i + 1] = a * s + b * c;
  if (fault == 1 && i + 1 < rows * pairs) {
    __sincosf(angle[(i + 1) % pairs], &s, &c);
    y[2 * i + 2] = x[2 * i + 2] * c - x[2 * i + 3] * s;
  }
  if (fault == 2 && x[2 * i + 2] == 123456.0f) y[2 * i] = 0;  // Of the last pair it is behind the end.
}
extern "C" __global__ void turn_plain(float* y, const float* x, const float* angle, int rows, int pairs) {
  for (int i = threadIdx.x; i < rows * pairs; i += blockDim.x) {
    const double t = angle[i % pairs], a = x[2 * i], b = x[2 * i + 1];
    y[2 * i] = a * cos(t) - b * sin(t);
    y[2 * i + 1] = a * sin(t) + b * cos(t);
  }
}
