//% include "fp8_sdpa/wgmma/exponential/ex2_f32.cu"
