#pragma once

#include <exception>
#include <mutex>

#include "evaluator/program/machine.h"
#include "evaluator/program/refusal.h"

/// The frame of every entry point: the lock, and codes in place of exceptions.
namespace evo::program {

enum class Survives { no, yes };  ///< Whether an entry point works after a launch that a GPU does not survive.

template <class Body>
int coded(Body body, Survives survives = Survives::no) {
  const std::scoped_lock held(machine().lock());
  try {
    if (survives == Survives::no) {
      if (machine().broken) return static_cast<int>(*machine().broken);
      machine().begin();
    }
    body();
    return 0;
  } catch (const Refusal& refusal) {
    return static_cast<int>(refusal.code);
  } catch (const std::exception& error) {
    say(error.what());
    return static_cast<int>(Code::unknown);
  }
}

}  // namespace evo::program

/// Before the definition of an entry point: the library shows nothing else.
#define EVO_ENTRY extern "C" [[gnu::visibility("default")]]
