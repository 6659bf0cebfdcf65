// The gradient of the logits in their place, in double precision.
extern "C" __global__ void cross_entropy_backward_reference(const long long* target, const float* lse,
                                                            const float* dloss, float* logits, int V, float z_loss,
                                                            int ignore_index) {
  float* row = logits + (long long)blockIdx.x * V;
  const long long index = target[blockIdx.x];
  const bool ignored = index == ignore_index || index < 0 || index >= V;
  const double log_sum = lse[blockIdx.x];
  for (int column = threadIdx.x; column < V; column += 128) {
    const double share = exp(row[column] - log_sum) * (1 + 2 * (double)z_loss * log_sum);
    const double gradient = dloss[blockIdx.x] * (share - (column == index ? 1 : 0));
    row[column] = (float)(ignored ? 0 : gradient);
  }
}
