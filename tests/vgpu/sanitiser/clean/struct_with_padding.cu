// run: --block 64 --arg out=uchar[2048]:unset --arg sums=double[64]:unset
// Structs with padding are copied as a whole, through registers, shared and global memory; their fields are used.
struct Sample {
  char kind;
  double weight;
  short rank;
  int count;
  char last;
};
__global__ void rotate(Sample* out, double* sums) {
  __shared__ Sample first[64], second[64];
  const int i = threadIdx.x;
  first[i].kind = i;
  first[i].weight = i * 0.5;
  first[i].rank = i + 1;
  first[i].count = i * 3;
  first[i].last = 1;
  __syncthreads();
  Sample mine = first[63 - i];
  mine.count += 1;
  second[i] = mine;
  __syncthreads();
  const Sample other = second[(i + 1) % 64];
  out[i] = other;
  sums[i] = other.kind + other.weight + other.rank + other.count + other.last;
}
