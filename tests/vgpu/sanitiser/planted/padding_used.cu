// run: --block 32 --arg out=int[32]:unset
// finds: uninitialised line 13: of 'items'
// The bytes between two fields are copied, and then count as a number.
struct Item {
  char tag;
  int value;
};
__global__ void bits(int* out) {
  __shared__ Item items[32];
  const int i = threadIdx.x;
  items[i] = {1, i};
  __syncwarp();
  const int word = *reinterpret_cast<const volatile int*>(&items[i]);
  out[i] = word * 2;
}
