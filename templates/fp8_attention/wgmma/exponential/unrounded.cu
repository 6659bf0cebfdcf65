//% include "fp8_sdpa/wgmma/exponential/unrounded.cu"
