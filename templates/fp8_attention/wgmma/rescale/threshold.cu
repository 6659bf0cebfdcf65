//% include "include/attention/e4m3/threshold.cuh"
