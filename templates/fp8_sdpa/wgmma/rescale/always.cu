constexpr Rescale rescale_when = Rescale::always;
#include "include/attention/rescale.cuh"
