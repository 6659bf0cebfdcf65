#pragma once
// The types that kernels of this project use: no header is included, so that a kernel compiles in a fraction
// of a second.
typedef unsigned char e4m3;            // one OCP E4M3 code
typedef unsigned short half_bits;      // the bits of one f16 or bf16
typedef unsigned short e4m3x2;         // two E4M3 codes, the first in the low byte
typedef unsigned int e4m3x4;           // four E4M3 codes, the first in the low byte
typedef unsigned int f16x2;            // two f16, the first in the low half
typedef unsigned int u32;
typedef unsigned int shared_address;   // a byte address in the shared window
