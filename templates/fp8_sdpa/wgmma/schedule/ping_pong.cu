#include "include/attention/schedule/ping_pong.cuh"
