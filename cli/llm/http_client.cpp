#include "cli/llm/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "engine/base/error.h"
#include "evaluator/base/shared_library.h"

#ifdef EVO_CURL
#include <curl/curl.h>
#endif

namespace evo::cli {

#ifdef EVO_CURL
namespace {

/// The functions of libcurl that are called.
struct Curl {
  SharedLibrary library;
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  CURLcode (*easy_setopt)(CURL*, CURLoption, ...) = nullptr;
  CURLcode (*easy_getinfo)(CURL*, CURLINFO, ...) = nullptr;
  decltype(&curl_easy_perform) easy_perform = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
};

Curl load_curl() {
  Curl curl;
  std::string why_not;
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    if (curl.library = SharedLibrary::open(name, &why_not); curl.library) break;
  }
  if (!curl.library)
    throw machine_error(fmt::format("--llm needs libcurl ({}): install it (Debian: apt install libcurl4)", why_not));
  Binder bind(curl.library);
  bind(curl.global_init, "curl_global_init");
  bind(curl.easy_init, "curl_easy_init");
  bind(curl.easy_cleanup, "curl_easy_cleanup");
  bind(curl.easy_setopt, "curl_easy_setopt");
  bind(curl.easy_getinfo, "curl_easy_getinfo");
  bind(curl.easy_perform, "curl_easy_perform");
  bind(curl.easy_strerror, "curl_easy_strerror");
  bind(curl.slist_append, "curl_slist_append");
  bind(curl.slist_free_all, "curl_slist_free_all");
  if (bind.missing() != nullptr)
    throw machine_error(fmt::format("libcurl lacks {}: install a newer one", bind.missing()));
  if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw machine_error("libcurl does not start");
  return curl;
}

const Curl& curl_library() {
  static const Curl curl = load_curl();
  return curl;
}

/// A transfer that is under way.
struct Transfer {
  const HttpRequest& request;
  HttpReply& reply;
  bool too_long = false;
};

std::size_t take(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t bytes = size * count;
  if (transfer.reply.body.size() + bytes > transfer.request.most_bytes) {
    transfer.too_long = true;
    return 0;  // ends the transfer
  }
  transfer.reply.body.append(data, bytes);
  return bytes;
}

int go_on(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& transfer = *static_cast<Transfer*>(user);
  return transfer.request.given_up && transfer.request.given_up() ? 1 : 0;
}

/// Of the header of this name, which gives seconds or a date. Libraries before 7.66 do not read it.
std::chrono::seconds retry_after([[maybe_unused]] const Curl& curl, [[maybe_unused]] CURL* handle) {
#if CURL_AT_LEAST_VERSION(7, 66, 0)
  constexpr curl_off_t kLongest = 7 * 86'400;
  curl_off_t seconds = 0;
  if (curl.easy_getinfo(handle, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK)
    return std::chrono::seconds(std::clamp<curl_off_t>(seconds, 0, kLongest));
#endif
  return {};
}

}  // namespace

void require_http_client() {
  curl_library();
}

HttpReply post_json(const HttpRequest& request) {
  const Curl& curl = curl_library();
  HttpReply reply;
  Transfer transfer{request, reply};
  CURL* const handle = curl.easy_init();
  if (handle == nullptr) throw machine_error("libcurl has no memory left");
  curl_slist* headers = curl.slist_append(nullptr, "Content-Type: application/json");
  headers = curl.slist_append(headers, "Expect:");  // no pause before the body
  if (!request.key.empty()) headers = curl.slist_append(headers, ("Authorization: Bearer " + request.key).c_str());
  const auto set = [&](CURLoption option, auto value) { return curl.easy_setopt(handle, option, value); };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_POSTFIELDS, request.body.c_str());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  set(CURLOPT_WRITEFUNCTION, take);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  set(CURLOPT_XFERINFOFUNCTION, go_on);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&transfer));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_FOLLOWLOCATION, 0L);  // a redirect could carry the key to another host
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.deadline.count()));
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min<std::int64_t>(request.deadline.count(), 10'000)));
#if CURL_AT_LEAST_VERSION(7, 85, 0)
  if (set(CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK)
#endif
  {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));  // the word of older libraries
#pragma GCC diagnostic pop
  }
  const CURLcode code = curl.easy_perform(handle);
  curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply.status);
  reply.retry_after = retry_after(curl, handle);
  if (transfer.too_long)
    reply.failure = fmt::format("its reply has more than {} KiB", request.most_bytes >> 10);
  else if (code == CURLE_OPERATION_TIMEDOUT)
    reply.failure = fmt::format("no answer within {} s", static_cast<double>(request.deadline.count()) / 1000);
  else if (code != CURLE_OK)
    reply.failure = curl.easy_strerror(code);
  curl.slist_free_all(headers);
  curl.easy_cleanup(handle);
  return reply;
}

#else

void require_http_client() {
  throw machine_error("this evo was built without libcurl: install libcurl4-openssl-dev and build it again for --llm");
}

HttpReply post_json(const HttpRequest&) {
  require_http_client();
  return {};
}

#endif

}  // namespace evo::cli
