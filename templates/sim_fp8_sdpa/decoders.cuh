typedef decoders::${key_dequant} KeyDecoder;
typedef decoders::${value_dequant} ValueDecoder;

// The tables that these decoders look codes up in; all threads take part.
__device__ __forceinline__ void fill_tables(shared_address k_table, const unsigned char& k_zero, shared_address v_table,
                                            const unsigned char& v_zero) {
  if constexpr (${key_dequant == 'table'}) fill_table<threads>(k_table, k_zero, threadIdx.x);
  if constexpr (${value_dequant == 'table'}) fill_table<threads>(v_table, v_zero, threadIdx.x);
}
