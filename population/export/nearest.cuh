// ---- Which kernel a call takes.

struct MeasuredShape {
  int kernel;
  double log_size[${groups}];
};

// The kernel of the nearest shape; of equally near ones, which rounding must not tell apart, the first.
inline int nearest(const MeasuredShape* shapes, int count, const double* log_size) {
  int kernel = -1;
  double least = 0;
  for (int i = 0; i < count; ++i) {
    double distance = 0;
    for (int g = 0; g < ${groups}; ++g) {
      const double apart = shapes[i].log_size[g] - log_size[g];
      distance += apart * apart;
    }
    if (kernel < 0 || distance < least - 1e-9) {
      kernel = shapes[i].kernel;
      least = distance;
    }
  }
  return kernel;
}
