//% takes name, place, sizes = ''
//% if v_path == 'prepass'
// Transposes the values of all heads of keys into a workspace: each CTA one key tile of a head.
extern "C" __global__ void __launch_bounds__(128)
    ${name}(const __grid_constant__ TensorMap v_map, const __grid_constant__ TensorMap vt_map${sizes}) {
  extern __shared__ unsigned char smem_storage[];
  const shared_address values = (shared_address_of(smem_storage) + 1023) & ~1023u;
  const shared_address transposed = values + tile_k * head_dim;
  const shared_address arrived = transposed + ${operand_bytes};
  const int first_key = blockIdx.x * tile_k;
  const int head = blockIdx.y;
  if (threadIdx.x == 0) {
    init_barrier(arrived, 1);
    publish_barriers();
  }
  if constexpr (pdl != DependentLaunch::none) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  if (threadIdx.x == 0) {
    arrive_expecting(arrived, tile_k * head_dim);
#pragma unroll
    for (int p = 0; p < row_panels; ++p) {
      load_box(values + p * tile_k * row_bytes, v_map, arrived, p * row_bytes, first_key, ${place});
    }
  }
  __syncthreads();
  wait_for(arrived, 0);
  prepare_tile<4>(transposed, values, threadIdx.x / 32, threadIdx.x % 32);
  publish_to_async_proxy();
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll
    for (int p = 0; p < tile_k / panel; ++p) {
      store_box(vt_map, transposed + p * panel_bytes, first_key + p * panel, 0, head);
    }
    commit_stores();
    wait_for_stores();
  }
}
//% end
