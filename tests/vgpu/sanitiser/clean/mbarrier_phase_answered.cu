// run: --block 96 --arg out=float[96]:unset
// The second phase cannot end before the first warp has seen the first.
#define ANSWERED
#include "../planted/mbarrier_phase_missed.cu"
