//% include "include/attention/e4m3/sequential.cuh"
