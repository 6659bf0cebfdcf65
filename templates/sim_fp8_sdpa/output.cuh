// The maximum of a row that has seen no key yet: what it is followed by leaves nothing of it. Differences are finite.
constexpr float lowest_max = -1e20f;

// What becomes of the accumulated rows: normalised output, or partial rows for the combining kernel.
struct Output {
  half_bits* o;
  float* partial_o;            // of each share of the keys: rows not yet divided by their sums,
  float2* partial_statistics;  // and their maxima (x) and sums (y)
  int M;
  int heads;
};

// Of scales and zero points: there is one for each ${scales}.
__device__ __forceinline__ int scale_index(int head) { return ${scales == 'head' ? 'head' : '0'}; }

// From sums of weighted codes to real values: they are times `scale` over the sum of the weights, plus `offset`.
struct ValueScale {
  float scale;
  float offset;

  __device__ __forceinline__ ValueScale(const float* scales, const unsigned char* zeros, int head) {
    const float step = scales[scale_index(head)];
    scale = step * ValueDecoder::unit;
    offset = ValueDecoder::leaves_zero_point ? -step * (float)zeros[scale_index(head)] : 0.0f;
  }
};

__device__ __forceinline__ void store_columns(half_bits* to, float4 acc, float row_sum, const ValueScale& value) {
  const float factor = reciprocal(row_sum) * value.scale;
  store_global_u32x2(to, f16x2_from_f32(fmaf(acc.x, factor, value.offset), fmaf(acc.y, factor, value.offset)),
                     f16x2_from_f32(fmaf(acc.z, factor, value.offset), fmaf(acc.w, factor, value.offset)));
}

// Rows whose keys were shared out: their sums are brought to one maximum.
struct PartialRow {
  float row_max = lowest_max;
  float row_sum = 0.0f;
  float4 acc = {0.0f, 0.0f, 0.0f, 0.0f};

  // row_max is the largest of all shares' already; statistics: maximum (x), sum (y).
  __device__ __forceinline__ void add(float2 statistics, float4 part) {
    const float share = exp2_approximate(statistics.x - row_max);
    row_sum = fmaf(share, statistics.y, row_sum);
    acc.x = fmaf(share, part.x, acc.x);
    acc.y = fmaf(share, part.y, acc.y);
    acc.z = fmaf(share, part.z, acc.z);
    acc.w = fmaf(share, part.w, acc.w);
  }
};

// Four columns of a row that no other part of the CTA has a share in.
__device__ __forceinline__ void finish_columns(const Output& output, const Work& work, int row, int column, float4 acc,
                                               float row_max, float row_sum, const ValueScale& value) {
//% if kv_split > 1
  const long long partial_row = ((long long)work.split * output.heads + work.head) * output.M + row;
  store_global(output.partial_o + partial_row * head_dim + column, acc);
  if (column == 0) output.partial_statistics[partial_row] = make_float2(row_max, row_sum);
//% else
  store_columns(output.o + ((long long)work.head * output.M + row) * head_dim + column, acc, row_sum, value);
//% end
}
