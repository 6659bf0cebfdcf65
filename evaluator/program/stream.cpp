#include "evaluator/program/stream.h"

#include <algorithm>
#include <map>
#include <utility>

namespace evo::program {
namespace {

constexpr unsigned kDisableTiming = 2;  ///< cudaEventDisableTiming, CU_EVENT_DISABLE_TIMING.
constexpr unsigned kNonBlocking = 1;    ///< cudaStreamNonBlocking, CU_STREAM_NON_BLOCKING.

std::map<const void*, std::unique_ptr<Stream>>& streams() {
  static auto& all = *new std::map<const void*, std::unique_ptr<Stream>>;
  return all;
}
std::map<const void*, std::unique_ptr<Event>>& events() {
  static auto& all = *new std::map<const void*, std::unique_ptr<Event>>;
  return all;
}

Stream& default_stream() {
  static Stream stream;
  return stream;
}

/// The default stream waits for the streams that block, and they for it.
void order_default(Stream& stream) {
  if (&stream == &default_stream()) {
    for (const auto& [handle, other] : streams())
      if ((other->flags & kNonBlocking) == 0) stream.clock.now = std::max(stream.clock.now, other->clock.now);
  } else if ((stream.flags & kNonBlocking) == 0) {
    stream.clock.now = std::max(stream.clock.now, default_stream().clock.now);
  }
}

}  // namespace

Stream& stream_of(const void* handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number <= 2) return default_stream();
  const auto found = streams().find(handle);
  require(found != streams().end(), Code::invalid_handle);
  return *found->second;
}

Event& event_of(const void* handle) {
  const auto found = events().find(handle);
  require(found != events().end(), Code::invalid_handle);
  return *found->second;
}

Stream* make_stream(unsigned flags, int priority) {
  static std::uint64_t numbers = 2;
  auto stream = std::make_unique<Stream>();
  stream->flags = flags;
  stream->priority = std::clamp(priority, -5, 0);
  stream->number = ++numbers;
  Stream* handle = stream.get();
  streams()[handle] = std::move(stream);
  return handle;
}

void destroy_stream(const void* handle) {
  stream_of(handle);
  require(streams().erase(handle) == 1, Code::invalid_handle);
}

Event* make_event(unsigned flags) {
  auto event = std::make_unique<Event>();
  event->flags = flags;
  Event* handle = event.get();
  events()[handle] = std::move(event);
  return handle;
}

void destroy_event(const void* handle) {
  require(events().erase(handle) == 1, Code::invalid_handle);
}

void submit(Stream& stream, Work work) {
  if (!stream.capture) {
    order_default(stream);
    perform(work, stream.clock);
    return;
  }
  require(!stream.capture->invalid, Code::capture_invalidated);
  stream.behind = {stream.capture->graph->add(std::move(work), stream.behind)};
}

void record(Event& event, Stream& stream) {
  event.capture = stream.capture;
  event.behind = stream.behind;
  if (!stream.capture) submit(stream, EventRecord{&event});
}

void wait(Stream& stream, Event& event) {
  if (!event.capture) {
    if (!stream.capture)
      submit(stream, EventWait{&event});
    else
      require(!event.recorded, Code::capture_unsupported);
    return;
  }
  if (!stream.capture) stream.capture = event.capture;
  require(stream.capture == event.capture, Code::capture_unsupported);
  for (Node* node : event.behind)
    if (std::ranges::find(stream.behind, node) == stream.behind.end()) stream.behind.push_back(node);
}

void synchronise(Stream& stream) {
  if (stream.capture) {
    stream.capture->invalid = true;
    throw Refusal(Code::capture_unsupported);
  }
  machine().show_printed();
}

void synchronise_all() {
  machine().show_printed();
}

void begin_capture(Stream& stream, std::shared_ptr<Graph> into, std::vector<Node*> behind) {
  static std::uint64_t numbers = 0;
  require(&stream != &default_stream(), Code::capture_unsupported);
  require(!stream.capture);
  stream.capture = std::make_shared<Capture>();
  stream.capture->graph = std::move(into);
  stream.capture->origin = &stream;
  stream.capture->number = ++numbers;
  stream.behind = std::move(behind);
}

std::shared_ptr<Graph> end_capture(Stream& stream) {
  require(stream.capture != nullptr);
  const std::shared_ptr<Capture> capture = stream.capture;
  require(capture->origin == &stream, Code::capture_unmatched);
  bool joined = true;
  for (const auto& [handle, other] : streams()) {
    if (other->capture != capture) continue;
    if (other.get() != &stream)
      for (const Node* node : other->behind)
        joined = joined && (capture->graph->has_followers(*node) ||
                            std::ranges::find(stream.behind, node) != stream.behind.end());
    if (other.get() != &stream) {
      other->capture.reset();
      other->behind.clear();
    }
  }
  stream.capture.reset();
  stream.behind.clear();
  require(!capture->invalid, Code::capture_invalidated);
  require(joined, Code::capture_unjoined);
  return capture->graph;
}

double elapsed_us(const Event& from, const Event& to) {
  require(from.recorded && to.recorded && ((from.flags | to.flags) & kDisableTiming) == 0, Code::invalid_handle);
  return to.time_us - from.time_us;
}

}  // namespace evo::program
