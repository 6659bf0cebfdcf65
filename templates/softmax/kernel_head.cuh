extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) softmax(
    const Element* __restrict__ x, Element* __restrict__ y, int rows, int N) {
  __shared__ Partials partials;
  int turn = 0;
//% if sm >= 90 && pdl
  wait_for_launch_ahead();
  start_launch_behind();
//% end
