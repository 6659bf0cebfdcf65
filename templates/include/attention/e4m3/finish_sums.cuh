    // Behind the last tile: row_sum becomes that of the whole rows.
    if constexpr (pdl == DependentLaunch::late) start_launch_behind();
    if constexpr (sum_by == RowSum::adds && !sums_by_products) {
      row_sum[0] = quad_sum(row_sum[0]);
      row_sum[1] = quad_sum(row_sum[1]);
    } else if constexpr (sum_by != RowSum::adds) {
      const float* ones = acc_o + head_dim / 2;  // the columns of ones
      row_sum[0] = sum_by == RowSum::eighths ? quad_sum(ones[0] + ones[1]) : ones[0];
      row_sum[1] = sum_by == RowSum::eighths ? quad_sum(ones[2] + ones[3]) : ones[2];
    }
