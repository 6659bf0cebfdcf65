// Prefix sums and sorting.
#include <cub/cub.cuh>

extern "C" __global__ void scan_warps(int* out, const int* in) {
  __shared__ int of_warp[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = in[threadIdx.x];
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    int of_this = lane < blockDim.x / 32 ? of_warp[lane] : 0;
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, of_this, step);
      if (lane >= step) of_this += other;
    }
    of_warp[lane] = of_this;
  }
  __syncthreads();
  out[threadIdx.x] = sum + (warp > 0 ? of_warp[warp - 1] : 0);
}

extern "C" __global__ void scan_cub(int* out, const int* in) {
  using Scan = cub::BlockScan<int, 128>;
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    typename Scan::TempStorage scan;
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } storage;
  int items[4];
  Load(storage.load).Load(in, items);
  __syncthreads();
  Scan(storage.scan).ExclusiveSum(items, items);
  __syncthreads();
  Store(storage.store).Store(out, items);
}

extern "C" __global__ void sort_bitonic(float* values) {
  extern __shared__ float shared[];
  shared[threadIdx.x] = values[threadIdx.x];
  for (unsigned size = 2; size <= blockDim.x; size *= 2) {
    for (unsigned step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const unsigned other = threadIdx.x ^ step;
      if (other > threadIdx.x) {
        const bool up = (threadIdx.x & size) == 0;
        const float a = shared[threadIdx.x], b = shared[other];
        if ((a > b) == up) {
          shared[threadIdx.x] = b;
          shared[other] = a;
        }
      }
    }
  }
  __syncthreads();
  values[threadIdx.x] = shared[threadIdx.x];
}

template <class Key>
__global__ void sort_radix(Key* keys, int* values) {
  using Sort = cub::BlockRadixSort<Key, 64, 4, int>;
  __shared__ typename Sort::TempStorage storage;
  Key key[4];
  int value[4];
  for (int i = 0; i < 4; ++i) {
    key[i] = keys[threadIdx.x * 4 + i];
    value[i] = values[threadIdx.x * 4 + i];
  }
  Sort(storage).Sort(key, value);
  for (int i = 0; i < 4; ++i) {
    keys[threadIdx.x * 4 + i] = key[i];
    values[threadIdx.x * 4 + i] = value[i];
  }
}
template __global__ void sort_radix<unsigned>(unsigned*, int*);
template __global__ void sort_radix<float>(float*, int*);

extern "C" __global__ void sort_merge_cub(int* keys) {
  using Sort = cub::BlockMergeSort<int, 64, 4>;
  __shared__ typename Sort::TempStorage storage;
  int key[4];
  for (int i = 0; i < 4; ++i) key[i] = keys[threadIdx.x * 4 + i];
  Sort(storage).Sort(key, [](int a, int b) { return a < b; });
  for (int i = 0; i < 4; ++i) keys[threadIdx.x * 4 + i] = key[i];
}

extern "C" __global__ void histogram_cub(unsigned* bins, const unsigned char* in) {
  using Histogram = cub::BlockHistogram<unsigned char, 64, 4, 16>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ unsigned counts[16];
  unsigned char items[4];
  for (int i = 0; i < 4; ++i) items[i] = in[threadIdx.x * 4 + i] % 16;
  Histogram(storage).Histogram(items, counts);
  __syncthreads();
  if (threadIdx.x < 16) bins[threadIdx.x] = counts[threadIdx.x];
}
