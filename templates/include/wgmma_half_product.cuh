//% # One product of a warpgroup with 16-bit operands; the including file lets product_name, product_columns (n),
//% # product_dtype (f16 or bf16), product_rows (smem or registers: where a is) and product_b ('rows': the summed
//% # dimension innermost, 'columns': the columns) be.
//% let d_registers = product_columns / 2
//% let a_operands = product_rows == 'smem' ? 1 : 4
// d (+)= a b over 16 ${product_dtype} values: 64 rows, ${product_columns} columns, d in f32.${product_b == 'columns' ? ' b has its columns innermost.' : ''}
template <bool accumulate>
__device__ __forceinline__ void ${product_name}(float* d, ${product_rows == 'smem' ? 'matrix_descriptor' : 'const u32*'} a,
                                                matrix_descriptor b) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %${d_registers + a_operands + 1}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n${product_columns}k16.f32.${product_dtype}.${product_dtype} {"
//% for i in 0..d_registers / 4
      "%${4 * i}, %${4 * i + 1}, %${4 * i + 2}, %${4 * i + 3}${4 * i + 4 < d_registers ? ', ' : ''}"
//% end
      "}, "
//% if product_rows == 'smem'
      "%${d_registers}, "
//% else
      "{%${d_registers}, %${d_registers + 1}, %${d_registers + 2}, %${d_registers + 3}}, "
//% end
      "%${d_registers + a_operands}, accumulate, 1, 1${product_rows == 'smem' ? ', 0' : ''}, ${product_b == 'columns' ? 1 : 0};\n"
      "}"
//% for i in 0..d_registers / 4
      ${i == 0 ? ':' : ' '} "+f"(d[${4 * i}]), "+f"(d[${4 * i + 1}]),
        "+f"(d[${4 * i + 2}]), "+f"(d[${4 * i + 3}])${4 * i + 4 < d_registers ? ',' : ''}
//% end
//% if product_rows == 'smem'
      : "l"(a), "l"(b), "n"(accumulate));
//% else
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(accumulate));
//% end
}
