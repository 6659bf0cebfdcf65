// run: --block 32 --strict --arg items=uint[32]:unset --arg wide=ulong[32]:unset
// run: --arg out=int[32]:unset --arg in=int[32]:iota
// Fields of several widths are written into words that nobody has written, and copied with them.
struct Item {
  unsigned kind : 3, rank : 13, left : 16;
};
__global__ void fields(unsigned* items, unsigned long long* wide, int* out, const int* in) {
  __shared__ Item kept[32];
  const int i = threadIdx.x;
  reinterpret_cast<Item*>(items)[i].rank = in[i];
  wide[i] = (wide[i] & ~0xffff0000ull) | (in[i] & 0xffffull) << 16;
  kept[i].kind = in[i] & 7;
  kept[i].left = in[i];
  __syncwarp();
  const Item other = kept[31 - i];
  out[i] = other.kind + other.left + reinterpret_cast<Item*>(items)[i].rank + (wide[i] >> 16 & 0xffffu);
}
