#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "evaluator/program/event.h"
#include "evaluator/program/graph.h"
#include "evaluator/program/perform.h"
#include "evaluator/program/work.h"

/// Streams and events. What a stream is given is done at once, so that all waits are over when they begin; streams only
/// keep modelled time, and what they capture.
namespace evo::program {

/// A stream's work while it becomes a graph.
struct Capture {
  std::shared_ptr<Graph> graph;
  struct Stream* origin = nullptr;
  std::uint64_t number = 0;
  bool invalid = false;  ///< Something happened that no graph can hold.
};

struct Stream {
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t number = 0;
  Clock clock;
  std::shared_ptr<Capture> capture;  ///< Null: nothing is captured.
  std::vector<Node*> behind;         ///< Captured nodes that the next one follows.
};

/// The stream of a handle. 0, 1 and 2 stand for default streams. Throws Refusal for what is no stream.
Stream& stream_of(const void* handle);
/// Likewise.
Event& event_of(const void* handle);

Stream* make_stream(unsigned flags, int priority);
void destroy_stream(const void* handle);
Event* make_event(unsigned flags);
void destroy_event(const void* handle);

/// Does the work, or captures it.
void submit(Stream& stream, Work work);
void record(Event& event, Stream& stream);
void wait(Stream& stream, Event& event);
/// The host waits for the stream. Refused while it is captured.
void synchronise(Stream& stream);
/// The host waits for everything.
void synchronise_all();

void begin_capture(Stream& stream, std::shared_ptr<Graph> into, std::vector<Node*> behind);
std::shared_ptr<Graph> end_capture(Stream& stream);

/// Microseconds between two recorded events.
double elapsed_us(const Event& from, const Event& to);

}  // namespace evo::program
