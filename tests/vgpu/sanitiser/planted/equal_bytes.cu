// run: --block 64 --strict --arg out=int[1]:zeros
// finds: benign_looking line 5: as they are already: nothing orders it and thread (0, 0, 0)'s st.global.u32
// All threads write the same value.
__global__ void set(int* out) {
  out[0] = 7;
}
