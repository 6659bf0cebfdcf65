extern "C" __global__ void sum_reference(size_t n, const double* x, double* result) {
  double sum = 0, lost = 0;  // Kahan
  for (size_t i = 0; i < n; ++i) {
    const double term = __dsub_rn(x[i], lost);
    const double next = __dadd_rn(sum, term);
    lost = __dsub_rn(__dsub_rn(next, sum), term);
    sum = next;
  }
  *result = sum;
}
