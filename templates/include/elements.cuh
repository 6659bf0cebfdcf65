// Elements of rows as they lie in memory: ${dtype}, an option of the task. A packet is 4, 8 or 16 neighbouring
// bytes of a row; its address is a multiple of its size. Needs types.cuh and convert.cuh.
//% let near = load_cache == 'stream' ? 'ld.global.cs.nc' : 'ld.global.nc'
//% let far = load_cache == 'no_l1' ? 'ld.global.nc.L1::no_allocate' : 'ld.global.nc.L1::no_allocate.L2::256B'
//% let load_operation = load_cache in ('no_l1', 'no_l1_256') ? far : near
//% let store_operation = store_cache == 'stream' ? 'st.global.cs' : 'st.global'
enum class Dtype { bf16, f16, f32 };
constexpr Dtype dtype = Dtype::${dtype};
typedef ${dtype == 'f32' ? 'float' : 'half_bits'} Element;
constexpr int word_elements = 4 / sizeof(Element);

template <int bytes>
struct Packet {
  u32 word[bytes / 4];
};

// Data that is used once, and that the kernel does not write.
__device__ __forceinline__ void load_once(Packet<4>& to, const void* from) {
  asm volatile("${load_operation}.b32 %0, [%1];" : "=r"(to.word[0]) : "l"(from));
}
__device__ __forceinline__ void load_once(Packet<8>& to, const void* from) {
  asm volatile("${load_operation}.v2.b32 {%0, %1}, [%2];" : "=r"(to.word[0]), "=r"(to.word[1]) : "l"(from));
}
__device__ __forceinline__ void load_once(Packet<16>& to, const void* from) {
  asm volatile("${load_operation}.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.word[0]), "=r"(to.word[1]), "=r"(to.word[2]), "=r"(to.word[3])
               : "l"(from));
}

// Data that all rows share.
__device__ __forceinline__ void load_shared_by_rows(Packet<4>& to, const void* from) {
  asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(to.word[0]) : "l"(from));
}
__device__ __forceinline__ void load_shared_by_rows(Packet<8>& to, const void* from) {
  asm volatile("ld.global.nc.v2.b32 {%0, %1}, [%2];" : "=r"(to.word[0]), "=r"(to.word[1]) : "l"(from));
}
__device__ __forceinline__ void load_shared_by_rows(Packet<16>& to, const void* from) {
  asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.word[0]), "=r"(to.word[1]), "=r"(to.word[2]), "=r"(to.word[3])
               : "l"(from));
}

// Data that this thread may have written, or will.
__device__ __forceinline__ void load_own(Packet<4>& to, const void* from) {
  asm volatile("ld.global.b32 %0, [%1];" : "=r"(to.word[0]) : "l"(from) : "memory");
}
__device__ __forceinline__ void load_own(Packet<8>& to, const void* from) {
  asm volatile("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(to.word[0]), "=r"(to.word[1]) : "l"(from) : "memory");
}
__device__ __forceinline__ void load_own(Packet<16>& to, const void* from) {
  asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.word[0]), "=r"(to.word[1]), "=r"(to.word[2]), "=r"(to.word[3])
               : "l"(from)
               : "memory");
}

__device__ __forceinline__ void store(void* to, const Packet<4>& packet) {
  asm volatile("${store_operation}.b32 [%0], %1;" ::"l"(to), "r"(packet.word[0]) : "memory");
}
__device__ __forceinline__ void store(void* to, const Packet<8>& packet) {
  asm volatile("${store_operation}.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(packet.word[0]), "r"(packet.word[1])
               : "memory");
}
__device__ __forceinline__ void store(void* to, const Packet<16>& packet) {
  asm volatile("${store_operation}.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(packet.word[0]),
               "r"(packet.word[1]), "r"(packet.word[2]), "r"(packet.word[3])
               : "memory");
}

// The elements of a word, the first in its low bits.
__device__ __forceinline__ void unpack(u32 word, float* values) {
  if constexpr (dtype == Dtype::bf16) {
    values[0] = __uint_as_float(word << 16);
    values[1] = __uint_as_float(word & 0xffff0000u);
  } else if constexpr (dtype == Dtype::f16) {
    values[0] = first_of(word);
    values[1] = second_of(word);
  } else {
    values[0] = __uint_as_float(word);
  }
}

// Rounds to nearest.
__device__ __forceinline__ u32 pack(const float* values) {
  if constexpr (dtype == Dtype::bf16) return bf16x2_from_f32(values[0], values[1]);
  if constexpr (dtype == Dtype::f16) return f16x2_from_f32(values[0], values[1]);
  return __float_as_uint(values[0]);
}

template <int bytes>
__device__ __forceinline__ void unpack(const Packet<bytes>& packet, float (&values)[bytes / sizeof(Element)]) {
#pragma unroll
  for (int i = 0; i < bytes / 4; ++i) unpack(packet.word[i], values + i * word_elements);
}

template <int bytes>
__device__ __forceinline__ void pack(Packet<bytes>& packet, const float (&values)[bytes / sizeof(Element)]) {
#pragma unroll
  for (int i = 0; i < bytes / 4; ++i) packet.word[i] = pack(values + i * word_elements);
}

// Hides from the compiler what a packet holds. It then unpacks it again where it is used again, and does not keep
// its elements as f32 in the meantime, in twice as many registers.
template <int bytes>
__device__ __forceinline__ void hide(Packet<bytes>& packet) {
#pragma unroll
  for (int i = 0; i < bytes / 4; ++i) asm volatile("" : "+r"(packet.word[i]));
}

template <int bytes, int count>
__device__ __forceinline__ void hide(Packet<bytes> (&packets)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) hide(packets[i]);
}
