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

/// Bytes of the UTF-8 character that a text begins with; 1 for a byte that begins none.
std::size_t character_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t size = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 1;
  const std::string_view rest = text.substr(1, size - 1);
  return rest.size() == size - 1 && std::ranges::all_of(rest, continues_character) ? size : 1;
}

/// No control character, no half of a character (a terminal may take it for one), and none that turns the direction of
/// what follows.
bool is_harmless(std::string_view character) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return (at(0) >= 0x20 && at(0) < 0x7F) || at(0) == '\n' || at(0) == '\t';
  if (character.size() == 2) return at(0) != 0xC2 || at(1) >= 0xA0;
  const bool turns = at(0) == 0xE2 && ((at(1) == 0x80 && at(2) >= 0xAA && at(2) <= 0xAE) ||
                                       (at(1) == 0x81 && at(2) >= 0xA6 && at(2) <= 0xA9));
  return !turns;
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
  std::string line;
  for (std::string_view character; !text.empty(); text.remove_prefix(character.size())) {
    character = text.substr(0, character_size(text));
    if (is_harmless(character) || text.starts_with("\r\n"))
      line += character;
    else
      line.append(character.size(), ' ');
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
