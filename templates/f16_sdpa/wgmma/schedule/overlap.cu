//% include "overlap.cuh"
