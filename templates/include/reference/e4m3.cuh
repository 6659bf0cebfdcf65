#pragma once
// The value of an e4m3 code, exactly.
__device__ double decode(unsigned char code) {
  const int exponent = (code >> 3) & 15;
  const int mantissa = code & 7;
  // Exponent bias 7; exponent field 0 holds the subnormals, steps of 2^-9.
  const float magnitude = exponent == 0 ? mantissa * 0.001953125f
                                        : __int_as_float(((exponent + 120) << 23) | (mantissa << 20));
  return code & 128 ? -magnitude : magnitude;
}
