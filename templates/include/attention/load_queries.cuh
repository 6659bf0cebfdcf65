    // A work's query rows. Persistent CTAs load them behind the first keys, which find room sooner: rows have to wait until
    // those before are multiplied.
    const auto load_queries = [&] {
#pragma unroll
      for (int row_part = 0; row_part < row_warpgroups; ++row_part) {
//% if persistent
        wait_for(smem.query_free(row_part), query_parity);
//% end
        load_query_rows(smem, q_map, row_part, ${query_place});
      }
//% if persistent
      query_parity ^= 1;
//% end
    };
//% if persistent
    bool queries_wanted = true;
    const auto load_queries_once = [&] {
      if (queries_wanted) load_queries();
      queries_wanted = false;
    };
//% end
