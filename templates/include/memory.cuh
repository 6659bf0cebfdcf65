#pragma once
// Vector loads and stores, 16 bytes unless the name says otherwise. Addresses are aligned to the access.

__device__ __forceinline__ shared_address shared_address_of(const void* pointer) {
  return (shared_address)__cvta_generic_to_shared(pointer);
}

// Read-only data.
__device__ __forceinline__ uint4 load_global(const void* from) {
  uint4 value;
  asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

__device__ __forceinline__ uint2 load_global_u32x2(const void* from) {
  uint2 value;
  asm volatile("ld.global.nc.v2.b32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "l"(from));
  return value;
}

__device__ __forceinline__ u32 load_global_u32(const void* from) {
  u32 value;
  asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(value) : "l"(from));
  return value;
}

__device__ __forceinline__ void store_global_u32x2(void* to, u32 first, u32 second) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(first), "r"(second) : "memory");
}

__device__ __forceinline__ void store_global(void* to, uint4 value) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}

__device__ __forceinline__ void store_global(float* to, float4 value) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(value.x), "f"(value.y),
               "f"(value.z), "f"(value.w)
               : "memory");
}

__device__ __forceinline__ uint4 load_shared(shared_address from) {
  uint4 value;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(from)
               : "memory");
  return value;
}

__device__ __forceinline__ float4 load_shared_f32x4(shared_address from) {
  float4 value;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "r"(from)
               : "memory");
  return value;
}

__device__ __forceinline__ float2 load_shared_f32x2(shared_address from) {
  float2 value;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(value.x), "=f"(value.y) : "r"(from) : "memory");
  return value;
}

__device__ __forceinline__ uint2 load_shared_u32x2(shared_address from) {
  uint2 value;
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "r"(from) : "memory");
  return value;
}

__device__ __forceinline__ u32 load_shared_u8(shared_address from) {
  u32 value;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
  return value;
}

__device__ __forceinline__ void store_shared(shared_address to, uint4 value) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w)
               : "memory");
}

__device__ __forceinline__ void store_shared(shared_address to, float4 value) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(value.x), "f"(value.y),
               "f"(value.z), "f"(value.w)
               : "memory");
}

__device__ __forceinline__ void store_shared(shared_address to, float2 value) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(value.x), "f"(value.y) : "memory");
}

__device__ __forceinline__ void store_shared(shared_address to, uint2 value) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(value.x), "r"(value.y) : "memory");
}
