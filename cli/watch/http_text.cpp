#include "cli/watch/http_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/base/text.h"

namespace evo::cli {
namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 301:
      return "Moved Permanently";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Service Unavailable";
  }
}

bool is_host(std::string_view name) {
  return std::ranges::equal(name, std::string_view("host"),
                            [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

}  // namespace

std::optional<HttpRequest> read_request(std::string_view head) {
  HttpRequest request;
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == 0 || first == last || !line.substr(last + 1).starts_with("HTTP/1.")) return {};
  request.method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  request.path = target.substr(0, target.find('?'));
  for (head.remove_prefix(line.size()); head.starts_with("\r\n");) {
    head.remove_prefix(2);
    const std::string_view field = head.substr(0, head.find("\r\n"));
    head.remove_prefix(field.size());
    const std::size_t colon = field.find(':');
    if (colon == field.npos) return {};
    if (is_host(field.substr(0, colon))) request.host = trim(field.substr(colon + 1));
  }
  return request;
}

std::string answer_head(int status, std::string_view type, std::optional<std::size_t> length, std::string_view more) {
  // The address holds a token, and nobody but the page may show or load what is here.
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}\r\nConnection: close\r\nCache-Control: no-store\r\n"
      "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
      "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n"
      "Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n{}\r\n",
      status, reason_of(status), type,
      length ? fmt::format("Content-Length: {}", *length) : "Transfer-Encoding: chunked", more);
}

std::string chunk(std::string_view text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

}  // namespace evo::cli
