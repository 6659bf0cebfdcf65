// run: --block 64 --arg keys=int[256]:bits
// CUB's merges load the element past their end and use it in no comparison.
#include <cub/block/block_merge_sort.cuh>

__global__ void sort(int* keys) {
  using Sort = cub::BlockMergeSort<int, 64, 4>;
  __shared__ typename Sort::TempStorage storage;
  int key[4];
  for (int i = 0; i < 4; ++i) key[i] = keys[threadIdx.x * 4 + i];
  Sort(storage).Sort(key, [](int a, int b) { return a < b; });
  for (int i = 0; i < 4; ++i) keys[threadIdx.x * 4 + i] = key[i];
}
