//% include "include/attention/rescale.cuh"
