#pragma once

namespace evo {

enum class Rounding {
  rn,   ///< To nearest, ties to even.
  rz,   ///< Towards zero.
  rm,   ///< Towards minus infinity.
  rp,   ///< Towards plus infinity.
  rna,  ///< To nearest, ties away from zero (tf32 only in PTX).
};

/// How a value is narrowed to a format of fewer bits.
struct Narrowing {
  Rounding rounding = Rounding::rn;
  bool saturate_finite = false;  ///< .satfinite: larger values, infinity too, give the largest finite one.
  bool relu = false;             ///< .relu: negative values and -0 give +0; a NaN stays one.
};

}  // namespace evo
