//% # One product of a warpgroup; the including file lets product_name, product_columns (n), product_type (f32 or
//% # f16: type of d), product_rows (smem or registers: where a is) and product_operands (e4m3 or f16) be.
//% let d_registers = product_type == 'f32' ? product_columns / 2 : product_columns / 4
//% let d_letter = product_type == 'f32' ? 'f' : 'r'
//% let d_ctype = product_type == 'f32' ? 'float' : 'f16x2'
//% let a_operands = product_rows == 'smem' ? 1 : 4
//% let depth = product_operands == 'e4m3' ? 32 : 16
// d (+)= a b over ${depth} ${product_operands} values: 64 rows, ${product_columns} columns, d in ${product_type}.${product_operands == 'f16' ? ' b has its columns innermost.' : ''}
template <bool accumulate>
__device__ __forceinline__ void ${product_name}(${d_ctype}* d, ${product_rows == 'smem' ? 'matrix_descriptor' : 'const u32*'} a, matrix_descriptor b) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %${d_registers + a_operands + 1}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n${product_columns}k${depth}.${product_type}.${product_operands}.${product_operands} {"
//% for i in 0..d_registers / 4
      "%${4 * i}, %${4 * i + 1}, %${4 * i + 2}, %${4 * i + 3}${4 * i + 4 < d_registers ? ', ' : ''}"
//% end
      "}, "
//% if product_rows == 'smem'
      "%${d_registers}, "
//% else
      "{%${d_registers}, %${d_registers + 1}, %${d_registers + 2}, %${d_registers + 3}}, "
//% end
      "%${d_registers + a_operands}, accumulate, 1, 1${product_operands == 'f16' ? ', 1' : ''};\n"
      "}"
//% for i in 0..d_registers / 4
      ${i == 0 ? ':' : ' '} "+${d_letter}"(d[${4 * i}]), "+${d_letter}"(d[${4 * i + 1}]),
        "+${d_letter}"(d[${4 * i + 2}]), "+${d_letter}"(d[${4 * i + 3}])${4 * i + 4 < d_registers ? ',' : ''}
//% end
//% if product_rows == 'smem'
      : "l"(a), "l"(b), "n"(accumulate));
//% else
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(accumulate));
//% end
}
