constexpr Rescale rescale_when = Rescale::threshold;
#include "include/attention/rescale.cuh"
