#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/number.h"

/// Elements of every dtype in memory: how a number is stored and read.
namespace evo {

/// Rounded to nearest even, or saturated where the format has no infinity; an integer must be representable. `to`: the
/// element's bytes; for e2m1 see store_at.
void store(DType dtype, Number value, std::byte* to);
Number load(DType dtype, const std::byte* from);

/// Element number `index` of a dense array.
void store_at(DType dtype, std::byte* array, std::uint64_t index, Number value);
Number load_at(DType dtype, const std::byte* array, std::uint64_t index);

/// "3.25", "-7", "nan": as few digits as distinguish the element from its neighbours.
std::string text_of(DType dtype, Number number);

/// The bytes of scalars and structs by value, as C lays them out.
std::vector<std::byte> bytes_of(const std::vector<Scalar>& fields);

}  // namespace evo
