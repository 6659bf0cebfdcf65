  // The score that a thread computes: of row `row` of the queries with row `column` of the keys.
  constexpr int D = ${D};
  const int column = blockIdx.x * 64 + threadIdx.x;
  const int row = blockIdx.y;
  const int head = blockIdx.z;
  if (column >= N) return;
  const int scale_of = ${scales == 'head' ? 'head' : '0'};
  const unsigned char* query = q + ((long long)head * M + row) * D;
  const unsigned char* key = k + ((long long)head * N + column) * D;
