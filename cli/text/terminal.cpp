#include "cli/text/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace evo::cli {
namespace {

bool set_in_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// Whether a byte of UTF-8 goes on with a character.
bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// By Style; the last ends each.
constexpr std::array<std::string_view, 6> kCodes = {"\x1b[1m",  "\x1b[2m",  "\x1b[32m",
                                                    "\x1b[31m", "\x1b[33m", "\x1b[0m"};

std::string_view escape_of(Style style) {
  return kCodes[static_cast<std::size_t>(style) - 1];
}

}  // namespace

Terminal terminal_of(std::FILE* stream) {
  Terminal terminal;
  const int descriptor = fileno(stream);
  terminal.interactive = descriptor >= 0 && isatty(descriptor) == 1;
  if (!terminal.interactive) return terminal;
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  terminal.colour = !dumb && !set_in_environment("NO_COLOR");
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0) terminal.columns = size.ws_col;
  return terminal;
}

std::string styled(const Terminal& terminal, Style style, std::string_view text) {
  if (!terminal.colour || style == Style::plain || text.empty()) return std::string(text);
  return std::string(escape_of(style)).append(text).append(kCodes.back());
}

std::size_t display_width(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues_character));
}

std::string printable(std::string_view text) {
  std::string line(text);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    const bool c1 = byte == 0xC2 && i + 1 < line.size() && static_cast<unsigned char>(line[i + 1]) < 0xA0;
    if (c1) line[i + 1] = ' ';
    const bool ends_line = byte == '\r' && i + 1 < line.size() && line[i + 1] == '\n';
    if (c1 || byte == 0x7F || (byte < 0x20 && byte != '\n' && byte != '\t' && !ends_line)) line[i] = ' ';
  }
  return line;
}

std::string shown(std::string_view text, const Terminal& terminal) {
  if (!terminal.colour) return printable(text);
  std::string safe;
  while (!text.empty()) {
    const std::size_t escape = std::min(text.find('\x1b'), text.size());
    safe += printable(text.substr(0, escape));
    text.remove_prefix(escape);
    if (text.empty()) break;
    const auto own = std::ranges::find_if(kCodes, [&](std::string_view code) { return text.starts_with(code); });
    safe += own == kCodes.end() ? " " : *own;
    text.remove_prefix(own == kCodes.end() ? 1 : own->size());
  }
  return safe;
}

std::string one_line(std::string_view text) {
  std::string line = printable(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  return line;
}

std::string clipped(std::string_view text, std::size_t most, std::string_view end) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && continues_character(text[most])) --most;
  return std::string(text.substr(0, most)).append(end);
}

}  // namespace evo::cli
