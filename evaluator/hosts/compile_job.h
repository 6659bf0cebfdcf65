#pragma once

#include <future>
#include <string_view>
#include <utility>
#include <variant>

#include "evaluator/device/device.h"
#include "evaluator/worker/protocol.h"

namespace evo {

/// A program that is to be compiled (helping_host.h).
struct CompileJob {
  using Answer = protocol::Compiled;
  static constexpr std::string_view kDoes = "compiles";

  protocol::Compile request;
  std::promise<std::variant<Binary, Failure>> result;
  bool tried_elsewhere = false;  ///< Another host has not answered it: it is done on this one.

  const protocol::Compile& program() const { return request; }
  static const Failure* failure_in(const Answer&) { return nullptr; }
  static std::variant<Binary, Failure> result_of(Answer answer) { return std::move(answer.binary); }
};

}  // namespace evo
