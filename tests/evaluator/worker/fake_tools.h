#pragma once

#include "evaluator/device/device.h"
#include "evaluator/worker/worker.h"

namespace evo::testing {

/// The facts of the fake devices: "fake:0" is of kind cuda, so that every gate of a GPU applies.
DeviceInfo fake_device_info();

/// A compiler and a device for candidates whose source is a list of words. The device adds two f32 vectors,
/// c = a + b, on the CPU, as the words say:
///   honest              the right answer
///   zeros mean scaled nan last_wrong half    wrong answers
///   noop                writes nothing
///   stale               remembers its first answer by the address of its input
///   mutate              changes its input before it computes
///   overrun underrun    writes behind or before its output
///   unstable            another answer every time
///   wrong_when_timed    right when run, wrong when timed
///   fast                claims a time that no hardware reaches
///   crash exit hang kill_once   of the device worker
///   lost fault unsupported break    ends of a run that the device itself reports
///   compile_error compile_crash compile_hang compile_break spills    of the compiler
///   us=N                its time
///   counted             has counters: one launch that takes this time
///   crash_elsewhere     when it is counted where the environment has EVO_FAKE_ELSEWHERE, a folder that this makes
/// EVO_FAKE_COMPILER in the environment is another build of the compiler, "VERSION" or "VERSION+BUILD"; its programs
/// tell it.
/// Other words only make sources different. The text after "cubin=" is the cubin's hash; without it, the whole source.
WorkerTools fake_tools();

}  // namespace evo::testing
