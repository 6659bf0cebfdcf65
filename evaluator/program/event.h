#pragma once

#include <memory>
#include <vector>

namespace evo::program {

struct Capture;
struct Node;

struct Event {
  unsigned flags = 0;
  bool recorded = false;
  double time_us = 0;
  std::shared_ptr<Capture> capture;  ///< In which it was recorded last; null: in none.
  std::vector<Node*> behind;
};

}  // namespace evo::program
