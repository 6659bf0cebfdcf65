//% include "fp8_sdpa/wgmma/rescale/threshold.cu"
