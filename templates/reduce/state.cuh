// What is known of some elements, and how two such states become one; sums of partial results by a second launch.
enum class Operation { sum, max, min, argmax, argmin };
constexpr Operation operation = Operation::${op};
constexpr bool greatest = operation == Operation::max || operation == Operation::argmax;
constexpr int finish_results = ${finish_results};  // of a CTA of the second launch,
constexpr int finish_threads = ${finish_threads};  // each of which has so many threads
constexpr bool waits_for_launches = ${dependent_launch && pdl};

struct Value {
  float value;
  Value() = default;
  __device__ Value(float of, long long) : value(of) {}
};
struct ValueAndIndex {
  float value;
  long long index;
  ValueAndIndex() = default;
  __device__ ValueAndIndex(float of, long long at) : value(of), index(at) {}
};
typedef ${op in ('argmax', 'argmin') ? 'ValueAndIndex' : 'Value'} State;

// Of no elements: every other state is better.
__device__ __forceinline__ State nothing() {
  const float worst = operation == Operation::sum ? 0.0f : __int_as_float(greatest ? 0xff800000 : 0x7f800000);
  return State(worst, 0x7fffffffffffffff);
}

__device__ __forceinline__ bool is_better(float a, float b) { return greatest ? a > b : a < b; }

// NaN is better than all numbers.
__device__ __forceinline__ Value combine(const Value& a, const Value& b) {
  if constexpr (operation == Operation::sum) return Value(a.value + b.value, 0);
  return is_better(a.value, b.value) || a.value != a.value ? a : b;
}
// Of equal ones the lowest index is.
__device__ __forceinline__ ValueAndIndex combine(const ValueAndIndex& a, const ValueAndIndex& b) {
  const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
  const bool ties = a.value == b.value || (a_is_nan && b_is_nan);
  const bool first = ties ? a.index < b.index : a_is_nan || (!b_is_nan && is_better(a.value, b.value));
  return first ? a : b;
}

__device__ __forceinline__ Value from_lane(const Value& state, int lane_mask) {
  return Value(__shfl_xor_sync(0xffffffffu, state.value, lane_mask), 0);
}
__device__ __forceinline__ ValueAndIndex from_lane(const ValueAndIndex& state, int lane_mask) {
  return ValueAndIndex(__shfl_xor_sync(0xffffffffu, state.value, lane_mask),
                       __shfl_xor_sync(0xffffffffu, state.index, lane_mask));
}

// Over groups of `lanes` neighbouring lanes; all lanes of the warp take part.
template <int lanes>
__device__ __forceinline__ State combine_lanes(State state) {
#pragma unroll
  for (int mask = lanes / 2; mask > 0; mask /= 2) state = combine(state, from_lane(state, mask));
  return state;
}

__device__ __forceinline__ void store_result(Element* y, long long*, long long at, const Value& state) {
  store_rounded(y + at, state.value);
}
__device__ __forceinline__ void store_result(Element*, long long* index, long long at, const ValueAndIndex& state) {
  index[at] = state.index;
}

// `parts` states of each result, those of one part beside each other, become one.
__device__ __forceinline__ void finish(const State* partial, Element* y, long long* index, int results, int parts) {
  __shared__ State of_thread[finish_threads][finish_results];
  if constexpr (waits_for_launches) wait_for_launch_ahead();
  const int result = blockIdx.x * finish_results + threadIdx.x;
  State state = nothing();
  if (result < results) {
    for (int part = threadIdx.y; part < parts; part += finish_threads) {
      state = combine(state, partial[(long long)part * results + result]);
    }
  }
  of_thread[threadIdx.y][threadIdx.x] = state;
#pragma unroll 1
  for (int distance = finish_threads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (threadIdx.y < distance) {
      state = combine(state, of_thread[threadIdx.y + distance][threadIdx.x]);
      of_thread[threadIdx.y][threadIdx.x] = state;
    }
  }
  if (threadIdx.y == 0 && result < results) store_result(y, index, result, state);
}
