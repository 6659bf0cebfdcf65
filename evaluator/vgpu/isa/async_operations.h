#pragma once

#include <cstdint>

#include "evaluator/vgpu/decode/decoder.h"
#include "evaluator/vgpu/machine/warp.h"

namespace evo::vgpu {

/// Ends all non-bulk copies of these lanes.
void land_copies(Warp& warp, std::uint32_t lanes);

// The families of cp besides the copy itself, once "async" has been taken.
void decode_arrive_after_copies(Form& form);  ///< cp.async.mbarrier.arrive
void decode_bulk(Form& form);                 ///< cp.async.bulk and cp.reduce.async.bulk

}  // namespace evo::vgpu
