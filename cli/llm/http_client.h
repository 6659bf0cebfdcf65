#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace evo::cli {

struct HttpRequest {
  std::string url;
  std::string key;   ///< Sent as a bearer token; empty: none.
  std::string body;  ///< JSON.
  std::chrono::milliseconds deadline{0};
  std::size_t most_bytes = 1 << 20;     ///< Of the reply.
  std::function<bool()> given_up = {};  ///< Asked several times a second; may be empty.
};

struct HttpReply {
  long status = 0;  ///< 0: there was no reply, `failure` says why.
  std::string body;
  std::string failure;                  ///< In one line; empty: the reply is complete.
  std::chrono::seconds retry_after{0};  ///< As the server asks for.
};

/// Posts JSON by libcurl, which is loaded at run time. Redirects are not followed, only http and https are spoken, and
/// neither cookies nor ~/.netrc are read. Whatever the server does, it returns by the deadline. Throws machine_error
/// when there is no libcurl.
HttpReply post_json(const HttpRequest& request);

/// Throws machine_error, which says what to install, when there is no libcurl.
void require_http_client();

}  // namespace evo::cli
