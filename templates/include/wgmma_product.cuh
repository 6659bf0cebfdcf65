//% takes name, columns, operands, result = 'f32', rows = 'registers', b = 'rows', accumulates = 'constant'
//% let registers = result == 'f32' ? columns / 2 : columns / 4, letter = result == 'f32' ? 'f' : 'r', shared = rows == 'smem', fixed = accumulates == 'constant'
//% let ending = operands == 'e4m3' ? '' : b == 'columns' ? ', 1' : ', 0'
// One product of a warpgroup, d (+)= a b over ${operands == 'e4m3' ? 32 : 16} ${operands} values: 64 rows, ${columns} columns, d in ${result}.${b == 'columns' ? ' b has its columns innermost.' : ''}
${fixed ? 'template <bool accumulate>' : ''}
__device__ __forceinline__ void ${name}(${result == 'f32' ? 'float' : 'f16x2'}* d, ${shared ? 'matrix_descriptor' : 'const u32*'} a, matrix_descriptor b${fixed ? '' : ', int accumulate'}) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %${registers + (shared ? 2 : 5)}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n${columns}k${operands == 'e4m3' ? 32 : 16}.${result}.${operands}.${operands} {"
//% for i in 0..registers / 4
      "%${4 * i}, %${4 * i + 1}, %${4 * i + 2}, %${4 * i + 3}${4 * i + 4 < registers ? ', ' : ''}"
//% end
//% if shared
      "}, %${registers}, "
      "%${registers + 1}, accumulate, 1, 1${operands == 'e4m3' ? '' : ', 0'}${ending};\n"
//% else
      "}, {%${registers}, %${registers + 1}, %${registers + 2}, %${registers + 3}}, "
      "%${registers + 4}, accumulate, 1, 1${ending};\n"
//% end
      "}"
//% for i in 0..registers / 4
      ${i == 0 ? ':' : ' '} "+${letter}"(d[${4 * i}]), "+${letter}"(d[${4 * i + 1}]),
        "+${letter}"(d[${4 * i + 2}]), "+${letter}"(d[${4 * i + 3}])${4 * i + 4 < registers ? ',' : ''}
//% end
      : ${shared ? '"l"(a)' : '"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])'}, "l"(b), "${fixed ? 'n' : 'r'}"(accumulate));
}
