//% include "fp8_sdpa/wgmma/exponential/ex2_f16x2.cu"
