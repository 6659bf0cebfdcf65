#pragma once
// Programmatic dependent launch (PTX ISA, griddepcontrol; sm_90 and newer): a launch starts while the one
// ahead of it in the stream still runs.

// Until everything of the launch ahead has ended and can be seen. Nothing it wrote may be read, and nothing
// it reads may be written, before.
__device__ __forceinline__ void wait_for_launch_ahead() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Lets the launch behind start as soon as every block has come here and there is room.
__device__ __forceinline__ void start_launch_behind() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
