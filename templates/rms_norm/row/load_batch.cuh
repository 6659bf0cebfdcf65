//% if residence == 'memory'
      load_again(inputs, x, residual_sum, row, N, first);
//% end
//% if weights_missing
      load_weights(weights, weight, first);
//% end
