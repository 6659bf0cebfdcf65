//% include "fp8_sdpa/wgmma/schedule/sequential.cu"
