    // The warpgroups take turns in starting products, so that one multiplies while the others weigh.
    if (row_part == 0) pass_at(turn_barrier, 256);
#include "overlap.cuh"

    if (row_part == 0) wait_for_turn();  // takes the turn that is left over
