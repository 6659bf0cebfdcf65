#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// The little of HTTP/1.1 (RFC 9112) that a page needs.
namespace evo::cli {

struct HttpRequest {
  std::string method;
  std::string path;  ///< Without what stands behind a '?'.
  std::string host;  ///< Empty: the request names none.
};

/// The request of a head without the empty line at its end. Empty: it is none.
std::optional<HttpRequest> read_request(std::string_view head);

/// The head of an answer with its empty line. `length`: of the body, in bytes; without it the body comes in chunks.
/// `more`: further lines, each with its "\r\n".
std::string answer_head(int status, std::string_view type, std::optional<std::size_t> length, std::string_view more);

/// A chunk of a body; the empty text is the last one.
std::string chunk(std::string_view text);

}  // namespace evo::cli
