#pragma once
// Clusters: CTAs that run together and read each other's shared memory (PTX ISA, mapa and barrier.cluster; sm_90).

__device__ __forceinline__ int rank_in_cluster() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Until all threads of the cluster that still run are here; what they wrote before can be read.
__device__ __forceinline__ void sync_cluster() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// The address in the shared memory of the CTA `rank` that corresponds to one in this CTA's.
__device__ __forceinline__ shared_address address_in(int rank, shared_address address) {
  shared_address there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

__device__ __forceinline__ float4 load_cluster_f32x4(shared_address from) {
  float4 value;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "r"(from)
               : "memory");
  return value;
}

__device__ __forceinline__ float2 load_cluster_f32x2(shared_address from) {
  float2 value;
  asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];" : "=f"(value.x), "=f"(value.y) : "r"(from) : "memory");
  return value;
}
