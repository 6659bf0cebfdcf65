  const int lane = threadIdx.x % 32;
  const int warp_q = threadIdx.x / 32 % warps_q;
  const int group = threadIdx.x / group_threads;
  const int group_thread = threadIdx.x % group_threads;
  const int warp_row = warp_q * 16 * m_tiles;
