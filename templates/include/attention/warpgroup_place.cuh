  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);  // the compiler sees that a warp has one only
  const int group = groups == 1 ? 0 : warpgroup / row_warpgroups;
  const int row_part = row_warpgroups == 1 ? 0 : warpgroup % row_warpgroups;
