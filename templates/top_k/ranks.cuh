// The rank of an element in its row as one number, which no other element of the row has: the value in the high half,
// as an integer that grows with it, and in the low half what falls with the index. NaN has the largest value, both
// zeros the same. Zero is the rank of nothing.
typedef unsigned long long Rank;

__device__ __forceinline__ Rank rank_of(float value, u32 index) {
  u32 key = 0xffffffffu;
  if (value == value) {
    const u32 bits = value == 0.0f ? 0u : __float_as_uint(value);
    key = bits ^ ((int)bits < 0 ? 0xffffffffu : 0x80000000u);
  }
  return (Rank)key << 32 | (0xffffffffu - index);
}

__device__ __forceinline__ u32 index_of(Rank rank) { return 0xffffffffu - (u32)rank; }
