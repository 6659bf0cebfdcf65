//% include "fp8_sdpa/wgmma/rescale/changed.cu"
