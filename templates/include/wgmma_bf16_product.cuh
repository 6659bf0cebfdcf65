//% # One bf16 product of a warpgroup, both operands in shared memory; the including file lets product_name,
//% # product_columns (n) and product_b ('rows': the summed dimension innermost, 'columns': the columns) be.
//% let d_registers = product_columns / 2
// d (+)= a b over 16 bf16 values: 64 rows, ${product_columns} columns, d in f32.${product_b == 'columns' ? ' b has its columns innermost.' : ''}
__device__ __forceinline__ void ${product_name}(float (&d)[${d_registers}], matrix_descriptor a, matrix_descriptor b,
                                                int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %${d_registers + 2}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n${product_columns}k16.f32.bf16.bf16 {"
//% for i in 0..d_registers / 4
      "%${4 * i}, %${4 * i + 1}, %${4 * i + 2}, %${4 * i + 3}${4 * i + 4 < d_registers ? ', ' : ''}"
//% end
      "}, %${d_registers}, %${d_registers + 1}, accumulate, 1, 1, 0, ${product_b == 'columns' ? 1 : 0};\n"
      "}"
//% for i in 0..d_registers / 4
      ${i == 0 ? ':' : ' '} "+f"(d[${4 * i}]), "+f"(d[${4 * i + 1}]),
        "+f"(d[${4 * i + 2}]), "+f"(d[${4 * i + 3}])${4 * i + 4 < d_registers ? ',' : ''}
//% end
      : "l"(a), "l"(b), "r"(accumulate));
}
