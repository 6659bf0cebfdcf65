// run: --block 32 --strict --arg out=uchar[32]:unset
// One field of a struct is written, and the struct is copied from the register that it was put together in.
struct Item {
  unsigned char left : 1, right : 7;
};
__global__ void copy(Item* out) {
  __shared__ Item items[32];
  const int i = threadIdx.x;
  items[i].left = i & 1;
  out[i] = items[i];
  __syncwarp();
  out[31 - i].left = items[31 - i].left ^ 1;
}
