#include "include/attention/schedule/sequential.cuh"
