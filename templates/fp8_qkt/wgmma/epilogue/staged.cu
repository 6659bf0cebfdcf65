#include "include/scores/staged.cuh"
