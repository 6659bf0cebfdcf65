    // The warpgroups take turns in starting products, so that one multiplies while the others weigh.
    const auto wait_for_turn = [&] { sync_at(turn_barrier + row_part, 256); };
    const auto pass_turn = [&] { pass_at(turn_barrier + (row_part + 1) % row_warpgroups, 256); };
    if (row_part == 0) pass_at(turn_barrier, 256);
//% include "overlap.cuh"
    if (row_part == 0) wait_for_turn();  // takes the turn that is left over
