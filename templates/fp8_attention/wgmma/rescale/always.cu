//% include "fp8_sdpa/wgmma/rescale/always.cu"
