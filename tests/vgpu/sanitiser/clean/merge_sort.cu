// run: --block 64 --arg keys=int[256]:bits
// CUB's merges load the element past their end and use it in no comparison.
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_store.cuh>

__global__ void sort(int* keys) {
  using Sort = cub::BlockMergeSort<int, 64, 4>;
  __shared__ typename Sort::TempStorage storage;
  int key[4];
  cub::LoadDirectBlocked(threadIdx.x, keys, key);
  Sort(storage).Sort(key, [](int a, int b) { return a < b; });
  cub::StoreDirectBlocked(threadIdx.x, keys, key);
}
