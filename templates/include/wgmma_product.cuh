//% takes name, columns, operands, result = 'f32', rows = 'registers', b = 'rows', accumulates = 'constant'
//% let codes = operands == 'e4m3', shared = rows == 'smem', fixed = accumulates == 'constant', d_end = result == 'f32' ? columns / 2 : columns / 4, a_end = d_end + (shared ? 1 : 4)
// One product of a warpgroup, d (+)= a b over ${codes ? 32 : 16} ${operands} values: 64 rows, ${columns} columns, d in ${result}.${b == 'columns' ? ' b has its columns innermost.' : ''}
// The operands of the instruction: ${d_end} registers d, a, b, and whether it adds to d.
${fixed ? 'template <bool accumulate>' : ''}
__device__ __forceinline__ void ${name}(${result == 'f32' ? 'float' : 'f16x2'}* d, ${shared ? 'matrix_descriptor' : 'const u32*'} a, matrix_descriptor b${fixed ? '' : ', int accumulate'}) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %${a_end + 1}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n${columns}k${codes ? 32 : 16}.${result}.${operands}.${operands} "
      "{${numbered(0, d_end, '%{}', ', ')}}, "
      "${shared ? '' : '{'}${numbered(d_end, a_end, '%{}', ', ')}${shared ? '' : '}'}, %${a_end}, "
      "accumulate, 1, 1${shared && !codes ? ', 0' : ''}${codes ? '' : b == 'columns' ? ', 1' : ', 0'};\n"
      "}"
      : ${numbered(0, d_end, result == 'f32' ? '"+f"(d[{}])' : '"+r"(d[{}])', ', ')}
      : ${shared ? '"l"(a)' : numbered(0, 4, '"r"(a[{}])', ', ')}, "l"(b), "${fixed ? 'n' : 'r'}"(accumulate));
}
