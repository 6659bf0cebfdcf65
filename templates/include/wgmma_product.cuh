//% # One product of a warpgroup; the including file lets product_name, product_columns (n), product_type (f32 or
//% # f16: type of d) and product_rows (smem or registers: where a is) be.
//% let d_registers = product_type == 'f32' ? product_columns / 2 : product_columns / 4
//% let d_letter = product_type == 'f32' ? 'f' : 'r'
//% let a_operands = product_rows == 'smem' ? 1 : 4
// d (+)= a b over 32 codes: 64 rows, ${product_columns} columns, d in ${product_type}.
template <bool accumulate>
//% if product_rows == 'smem'
__device__ __forceinline__ void ${product_name}(${product_type == 'f32' ? 'float' : 'f16x2'} (&d)[${d_registers}], matrix_descriptor a,
                                                matrix_descriptor b) {
//% else
__device__ __forceinline__ void ${product_name}(${product_type == 'f32' ? 'float' : 'f16x2'} (&d)[${d_registers}], const e4m3x4* a,
                                                matrix_descriptor b) {
//% end
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %${d_registers + a_operands + 1}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n${product_columns}k32.${product_type}.e4m3.e4m3 {"
//% for i in 0..d_registers / 4
      "%${4 * i}, %${4 * i + 1}, %${4 * i + 2}, %${4 * i + 3}${4 * i + 4 < d_registers ? ', ' : ''}"
//% end
      "}, "
//% if product_rows == 'smem'
      "%${d_registers}, "
//% else
      "{%${d_registers}, %${d_registers + 1}, %${d_registers + 2}, %${d_registers + 3}}, "
//% end
      "%${d_registers + a_operands}, accumulate, 1, 1;\n"
      "}"
//% for i in 0..d_registers / 4
      ${i == 0 ? ':' : ' '} "+${d_letter}"(d[${4 * i}]), "+${d_letter}"(d[${4 * i + 1}]), "+${d_letter}"(d[${4 * i + 2}]), "+${d_letter}"(d[${4 * i + 3}])${4 * i + 4 < d_registers ? ',' : ''}
//% end
//% if product_rows == 'smem'
      : "l"(a), "l"(b), "n"(accumulate));
//% else
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(accumulate));
//% end
}
