#include "evaluator/program/stream.h"

#include "evaluator/program/graph.h"
#include "evaluator/program/runtime/entry.h"

using namespace evo::program;

namespace {

cudaError_t create_stream(void** stream, unsigned flags, int priority) {
  return answer([&] {
    require(stream != nullptr);
    *stream = make_stream(flags, priority);
  });
}

}  // namespace

EVO_ENTRY cudaError_t cudaStreamCreate(void** stream) {
  return create_stream(stream, 0, 0);
}

EVO_ENTRY cudaError_t cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  return create_stream(stream, flags, 0);
}

EVO_ENTRY cudaError_t cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}

EVO_ENTRY cudaError_t cudaStreamDestroy(void* stream) {
  return answer([&] {
    machine().show_printed();
    destroy_stream(stream);
  });
}

EVO_ENTRY cudaError_t cudaStreamSynchronize(void* stream) {
  return answer([&] { synchronise(stream_of(stream)); });
}

EVO_ENTRY cudaError_t cudaStreamQuery(void* stream) {
  return cudaStreamSynchronize(stream);
}

EVO_ENTRY cudaError_t cudaStreamWaitEvent(void* stream, void* event, unsigned) {
  return answer([&] { wait(stream_of(stream), event_of(event)); });
}

EVO_ENTRY cudaError_t cudaStreamAddCallback(void* stream, void (*callback)(void*, cudaError_t, void*), void* data,
                                            unsigned) {
  return answer([&] {
    require(callback != nullptr && !stream_of(stream).capture);
    machine().show_printed();
    callback(stream, cudaSuccess, data);
  });
}

EVO_ENTRY cudaError_t cudaStreamGetFlags(void* stream, unsigned* flags) {
  return answer([&] {
    require(flags != nullptr);
    *flags = stream_of(stream).flags;
  });
}

EVO_ENTRY cudaError_t cudaStreamGetPriority(void* stream, int* priority) {
  return answer([&] {
    require(priority != nullptr);
    *priority = stream_of(stream).priority;
  });
}

EVO_ENTRY cudaError_t cudaStreamGetId(void* stream, unsigned long long* id) {
  return answer([&] {
    require(id != nullptr);
    *id = stream_of(stream).number;
  });
}

EVO_ENTRY cudaError_t cudaStreamGetDevice(void* stream, int* device) {
  return answer([&] {
    require(device != nullptr);
    stream_of(stream);
    *device = 0;
  });
}

EVO_ENTRY cudaError_t cudaStreamAttachMemAsync(void* stream, void*, std::size_t, unsigned) {
  return answer([&] { stream_of(stream); });
}

EVO_ENTRY cudaError_t cudaStreamSetAttribute(void* stream, int, const void*) {
  return answer([&] { stream_of(stream); });
}

EVO_ENTRY cudaError_t cudaStreamCopyAttributes(void* to, void* from) {
  return answer([&] { stream_of(to), stream_of(from); });
}

EVO_ENTRY cudaError_t cudaEventCreateWithFlags(void** event, unsigned flags) {
  return answer([&] {
    require(event != nullptr);
    *event = make_event(flags);
  });
}

EVO_ENTRY cudaError_t cudaEventCreate(void** event) {
  return cudaEventCreateWithFlags(event, 0);
}

EVO_ENTRY cudaError_t cudaEventDestroy(void* event) {
  return answer([&] { destroy_event(event); });
}

EVO_ENTRY cudaError_t cudaEventRecord(void* event, void* stream) {
  return answer([&] { record(event_of(event), stream_of(stream)); });
}

EVO_ENTRY cudaError_t cudaEventRecordWithFlags(void* event, void* stream, unsigned) {
  return cudaEventRecord(event, stream);
}

EVO_ENTRY cudaError_t cudaEventSynchronize(void* event) {
  return answer([&] {
    require(!event_of(event).capture, Code::capture_unsupported);
    synchronise_all();
  });
}

EVO_ENTRY cudaError_t cudaEventQuery(void* event) {
  return cudaEventSynchronize(event);
}

EVO_ENTRY cudaError_t cudaEventElapsedTime(float* ms, void* from, void* to) {
  return answer([&] {
    require(ms != nullptr);
    *ms = static_cast<float>(elapsed_us(event_of(from), event_of(to)) / 1e3);
  });
}

EVO_ENTRY cudaError_t cudaEventElapsedTime_v2(float* ms, void* from, void* to) {
  return cudaEventElapsedTime(ms, from, to);
}

EVO_ENTRY cudaError_t cudaStreamBeginCapture(void* stream, int) {
  return answer([&] { begin_capture(stream_of(stream), std::make_shared<Graph>(), {}); });
}

EVO_ENTRY cudaError_t cudaStreamEndCapture(void* stream, void** graph) {
  return answer([&] {
    require(graph != nullptr);
    *graph = nullptr;
    *graph = keep_graph(end_capture(stream_of(stream)));
  });
}

EVO_ENTRY cudaError_t cudaStreamIsCapturing(void* stream, int* status) {
  return answer([&] {
    require(status != nullptr);
    const auto& capture = stream_of(stream).capture;
    *status = !capture           ? cudaStreamCaptureStatusNone
              : capture->invalid ? cudaStreamCaptureStatusInvalidated
                                 : cudaStreamCaptureStatusActive;
  });
}

namespace {

cudaError_t capture_info(void* stream, int* status, unsigned long long* id, void** graph, void*** behind,
                         const void** edges, std::size_t* count) {
  return answer([&] {
    require(status != nullptr);
    Stream& of = stream_of(stream);
    *status = of.capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    if (!of.capture) return;
    if (id != nullptr) *id = of.capture->number;
    if (graph != nullptr) *graph = of.capture->graph.get();
    if (behind != nullptr) *behind = reinterpret_cast<void**>(of.behind.data());
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = of.behind.size();
  });
}

}  // namespace

/// As CUDA 13 declares it, and CUDA 12's cudaStreamGetCaptureInfo_v3.
EVO_ENTRY cudaError_t cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id, void** graph,
                                               void*** behind, const void** edges, std::size_t* count) {
  return capture_info(stream, status, id, graph, behind, edges, count);
}

EVO_ENTRY cudaError_t cudaStreamGetCaptureInfo_v3(void* stream, int* status, unsigned long long* id, void** graph,
                                                  void*** behind, const void** edges, std::size_t* count) {
  return capture_info(stream, status, id, graph, behind, edges, count);
}

EVO_ENTRY cudaError_t cudaStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void** graph,
                                                  void*** behind, std::size_t* count) {
  return capture_info(stream, status, id, graph, behind, nullptr, count);
}

EVO_ENTRY cudaError_t cudaThreadExchangeStreamCaptureMode(int*) {
  return answer([] {});
}
