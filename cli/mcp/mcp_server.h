#pragma once

#include "cli/mcp/tools.h"

namespace evo::cli {

/// A server of the Model Context Protocol: reads JSON-RPC messages from standard input, a line each, and answers on
/// standard output, until the input ends. It speaks the revision 2026-07-28, whose requests stand for themselves, and
/// those before it, which begin with `initialize`. Calls of tools run beside each other as commands of this program;
/// they end with the input. Returns an exit code.
int serve_mcp(const ToolSettings& settings);

}  // namespace evo::cli
