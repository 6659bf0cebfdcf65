    // A work's query rows. Persistent CTAs load them behind the first keys, which find room sooner: rows have to wait until
    // those before are multiplied.
    const auto load_queries = [&] {
#pragma unroll
      for (int row_part = 0; row_part < row_warpgroups; ++row_part) {
        if constexpr (persistent) wait_for(smem.query_free(row_part), query_parity);
        load_query_rows(smem, q_map, row_part, work, problem);
      }
      if constexpr (persistent) query_parity ^= 1;
    };
    bool queries_wanted = q_operand != QueryOperand::global && persistent;
    const auto load_queries_once = [&] {
      if constexpr (q_operand != QueryOperand::global && persistent) {
        if (queries_wanted) load_queries();
        queries_wanted = false;
      }
    };
