#include "evaluator/program/stream.h"

#include <memory>

#include "evaluator/program/entry.h"
#include "evaluator/program/graph.h"

using namespace evo::program;

EVO_ENTRY int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return coded([&] {
    require(stream != nullptr);
    *stream = make_stream(flags, priority);
  });
}
EVO_ENTRY int cuStreamCreate(void** stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}
EVO_ENTRY int cuStreamDestroy_v2(void* stream) {
  return coded([&] {
    machine().show_printed();
    destroy_stream(stream);
  });
}
EVO_ENTRY int cuStreamSynchronize(void* stream) {
  return coded([&] { synchronise(stream_of(stream)); });
}
EVO_ENTRY int cuStreamQuery(void* stream) {
  return cuStreamSynchronize(stream);
}
EVO_ENTRY int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  return coded([&] { wait(stream_of(stream), event_of(event)); });
}
EVO_ENTRY int cuStreamAddCallback(void* stream, void (*callback)(void*, int, void*), void* data, unsigned) {
  return coded([&] {
    require(callback != nullptr && !stream_of(stream).capture);
    machine().show_printed();
    callback(stream, 0, data);
  });
}
EVO_ENTRY int cuStreamGetFlags(void* stream, unsigned* flags) {
  return coded([&] {
    require(flags != nullptr);
    *flags = stream_of(stream).flags;
  });
}
EVO_ENTRY int cuStreamGetPriority(void* stream, int* priority) {
  return coded([&] {
    require(priority != nullptr);
    *priority = stream_of(stream).priority;
  });
}
EVO_ENTRY int cuStreamGetId(void* stream, unsigned long long* id) {
  return coded([&] {
    require(id != nullptr);
    *id = stream_of(stream).number;
  });
}
EVO_ENTRY int cuStreamGetCtx(void* stream, void** context) {
  return coded([&] {
    stream_of(stream);
    require(context != nullptr);
    *context = nullptr;
  });
}
EVO_ENTRY int cuStreamAttachMemAsync(void* stream, Address, std::size_t, unsigned) {
  return coded([&] { stream_of(stream); });
}

EVO_ENTRY int cuEventCreate(void** event, unsigned flags) {
  return coded([&] {
    require(event != nullptr);
    *event = make_event(flags);
  });
}
EVO_ENTRY int cuEventDestroy_v2(void* event) {
  return coded([&] { destroy_event(event); });
}
EVO_ENTRY int cuEventRecord(void* event, void* stream) {
  return coded([&] { record(event_of(event), stream_of(stream)); });
}
EVO_ENTRY int cuEventRecordWithFlags(void* event, void* stream, unsigned) {
  return cuEventRecord(event, stream);
}
EVO_ENTRY int cuEventSynchronize(void* event) {
  return coded([&] {
    require(!event_of(event).capture, Code::capture_unsupported);
    synchronise_all();
  });
}
EVO_ENTRY int cuEventQuery(void* event) {
  return cuEventSynchronize(event);
}
EVO_ENTRY int cuEventElapsedTime(float* ms, void* from, void* to) {
  return coded([&] {
    require(ms != nullptr);
    *ms = static_cast<float>(elapsed_us(event_of(from), event_of(to)) / 1e3);
  });
}
EVO_ENTRY int cuEventElapsedTime_v2(float* ms, void* from, void* to) {
  return cuEventElapsedTime(ms, from, to);
}

EVO_ENTRY int cuStreamBeginCapture_v2(void* stream, int) {
  return coded([&] { begin_capture(stream_of(stream), std::make_shared<Graph>(), {}); });
}
EVO_ENTRY int cuStreamEndCapture(void* stream, void** graph) {
  return coded([&] {
    require(graph != nullptr);
    *graph = nullptr;
    *graph = keep_graph(end_capture(stream_of(stream)));
  });
}
EVO_ENTRY int cuStreamIsCapturing(void* stream, int* status) {
  return coded([&] {
    require(status != nullptr);
    const auto& capture = stream_of(stream).capture;
    *status = !capture ? 0 : capture->invalid ? 2 : 1;
  });
}
EVO_ENTRY int cuStreamGetCaptureInfo_v3(void* stream, int* status, unsigned long long* id, void** graph, void*** behind,
                                        const void** edges, std::size_t* count) {
  return coded([&] {
    require(status != nullptr);
    Stream& of = stream_of(stream);
    *status = of.capture ? 1 : 0;
    if (!of.capture) return;
    if (id != nullptr) *id = of.capture->number;
    if (graph != nullptr) *graph = of.capture->graph.get();
    if (behind != nullptr) *behind = reinterpret_cast<void**>(of.behind.data());
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = of.behind.size();
  });
}
EVO_ENTRY int cuStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void** graph, void*** behind,
                                        std::size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, behind, nullptr, count);
}
EVO_ENTRY int cuThreadExchangeStreamCaptureMode(int*) {
  return coded([] {});
}
