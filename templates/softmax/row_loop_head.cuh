//% if ctas_per_sm > 0
  for (int first_row = blockIdx.x * cta_rows; first_row < rows; first_row += gridDim.x * cta_rows) {
//% else
  {
    const int first_row = blockIdx.x * cta_rows;
//% end
    // All threads work through all of this, also where there is no row: they take part in the exchanges.
    const int row = row_of(first_row, rows);
    const int visible = visible_columns(row, rows, N);
