#include "engine/choices/launch_line.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo {
namespace {

std::vector<std::string> parts(std::string_view list) {
  std::vector<std::string> texts;
  for (const std::string_view part : split_outside_brackets(list, ",")) texts.emplace_back(part);
  return texts;
}

/// "dim3(A, B)" has the axes A and B, other texts are one.
std::vector<std::string> axes(std::string_view extent) {
  if (!extent.starts_with("dim3") || !extent.ends_with(')')) return {std::string(extent)};
  const std::size_t open = extent.find('(');
  if (!trim(extent.substr(4, open - 4)).empty()) return {std::string(extent)};
  return parts(extent.substr(open + 1, extent.size() - open - 2));
}

}  // namespace

LaunchLine parse_launch_line(std::string_view text) {
  text = trim(text);
  if (text.ends_with(';')) text = trim(text.substr(0, text.size() - 1));
  const auto refuse = [&](const char* why) {
    return usage_error(
        fmt::format("launch '{}': {}: write 'kernel<<<grid, block>>>(y=out float[N], x=float[N], N)'", text, why));
  };
  const std::size_t open = text.find("<<<"), close = text.find(">>>");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    throw refuse("<<< and >>> are missing");
  LaunchLine launch;
  launch.kernel = trim(text.substr(0, open));
  if (!is_kernel_name(launch.kernel)) throw refuse("a kernel's name is missing before <<<");
  const std::vector<std::string> geometry = parts(text.substr(open + 3, close - open - 3));
  if (geometry.size() < 2 || geometry.size() > 3)
    throw refuse("between <<< and >>> stand grid, block and shared memory");
  launch.grid = axes(geometry[0]);
  launch.block = axes(geometry[1]);
  if (geometry.size() > 2) launch.shared = geometry[2];
  const std::string_view list = trim(text.substr(close + 3));
  if (!list.starts_with('(') || !list.ends_with(')')) throw refuse("the arguments in ( ) are missing behind >>>");
  launch.arguments = parts(list.substr(1, list.size() - 2));
  for (const std::vector<std::string>* texts : {&launch.grid, &launch.block, &launch.arguments})
    for (const std::string& one : *texts)
      if (one.empty()) throw refuse("something is missing between two commas");
  return launch;
}

std::vector<std::string> comments_in(std::string_view source, std::string_view beginning) {
  std::vector<std::string> found;
  for (const std::string& line : split(source, '\n'))
    if (const std::string_view text = trim(line); text.starts_with(beginning))
      found.emplace_back(trim(text.substr(beginning.size())));
  return found;
}

}  // namespace evo
