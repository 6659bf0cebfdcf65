#include "cli/watch/page_server.h"

#include "engine/base/error.h"

#ifdef EVO_HTTPLIB

#include <arpa/inet.h>
#include <fmt/format.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace evo::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kLoopback = "127.0.0.1";
constexpr std::size_t kMostFollowers = 32;  ///< Each holds a thread for as long as it is connected.
constexpr std::size_t kThreads = kMostFollowers + 8;
constexpr auto kPatience = 2s;            ///< For bytes of a viewer, and for room to send it some.
constexpr auto kPagePatience = 10s;       ///< Of a viewer until the owner has looked whether its page is right.
constexpr auto kHeartbeat = 5s;           ///< Between signs of life, which show that a viewer has gone.
constexpr std::size_t kSlice = 16 << 10;  ///< Bytes that are sent at once.

/// 128 bits that nobody can guess.
std::string fresh_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0)
    throw machine_error("the system gives no random numbers, so no address that only you know can be made");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

/// In a time that does not tell how many bytes agree.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

/// Whether a browser that sends this Host has asked for this machine. The port may be that of a tunnel.
bool names_this_machine(const std::string& host) {
  std::string name = host.substr(0, host.find(':'));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name == kLoopback || name == "localhost";
}

/// Why no server can listen there.
std::string why_no_port(std::uint16_t port) {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  ::inet_pton(AF_INET, kLoopback, &place.sin_addr);
  const bool bound = ::bind(probe, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0;
  const int error = bound ? EADDRINUSE : errno;
  ::close(probe);
  return std::strerror(error);
}

const httplib::Headers kHeaders = {
    {"Cache-Control", "no-store"},
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},  // The address holds the token.
    {"X-Content-Type-Options", "nosniff"},
};

void refuse(httplib::Response& response, int status, const std::string& why) {
  response.status = status;
  response.set_content(why + "\n", "text/plain");
}

}  // namespace

struct PageServer::Inside {
  httplib::Server http;
  std::thread listener;
  const std::string token = fresh_token();
  int port = 0;

  mutable std::mutex mutex;
  std::condition_variable for_viewers;  ///< Another page, an answer, or the end.
  std::condition_variable for_owner;    ///< A question, or a follower that has gone.
  std::shared_ptr<const ServedPage> page;
  std::uint64_t pages = 0;  ///< Shown so far.
  std::uint64_t asked = 0, answered = 0;
  std::size_t followers = 0;
  bool ended = false;

  void answer(const httplib::Request& request, httplib::Response& response);
  std::shared_ptr<const ServedPage> right_page();
  void follow(httplib::Response& response);
  bool send_event(std::uint64_t& seen, httplib::DataSink& sink);
};

/// What a viewer that asks now is to see: the owner is asked first. Null: the owner has not answered.
std::shared_ptr<const ServedPage> PageServer::Inside::right_page() {
  std::unique_lock lock(mutex);
  const std::uint64_t question = ++asked;
  for_owner.notify_all();
  for_viewers.wait_for(lock, kPagePatience, [&] { return answered >= question || ended; });
  return page;
}

void PageServer::Inside::answer(const httplib::Request& request, httplib::Response& response) {
  if (!names_this_machine(request.get_header_value("Host")))
    return refuse(response, 403, "This page is for browsers of the machine that serves it.");
  if (request.method != "GET") {
    response.set_header("Allow", "GET");
    return refuse(response, 405, "This page can only be read.");
  }
  const std::string_view path = std::string_view(request.path).substr(std::min<std::size_t>(1, request.path.size()));
  const std::size_t cut = path.find('/');
  if (!same_secret(path.substr(0, cut), token)) return refuse(response, 404, "There is nothing here.");
  if (cut == std::string_view::npos) return response.set_redirect("/" + token + "/", 301);
  const std::string_view wanted = path.substr(cut + 1);
  if (wanted == "events") return follow(response);
  if (!wanted.empty() && wanted != "data") return refuse(response, 404, "There is nothing here.");
  const auto shown = right_page();
  if (!shown) return refuse(response, 503, "There is no page yet.");
  if (wanted == "data")
    response.set_content(shown->data, "application/json");
  else
    response.set_content(shown->html, "text/html; charset=utf-8");
}

/// Keeps the connection for events.
void PageServer::Inside::follow(httplib::Response& response) {
  {
    const std::lock_guard lock(mutex);
    if (followers >= kMostFollowers)
      return refuse(response, 503, fmt::format("{} viewers follow the page: that is the most.", followers));
    ++followers;
  }
  // The place is given back when the library drops the response.
  const std::shared_ptr<Inside> place(this, [](Inside* inside) {
    const std::lock_guard lock(inside->mutex);
    --inside->followers;
    inside->for_owner.notify_all();
  });
  response.set_chunked_content_provider("text/event-stream",
                                        [place, seen = std::uint64_t{0}](std::size_t, httplib::DataSink& sink) mutable {
                                          return place->send_event(seen, sink);
                                        });
}

/// Waits for the next event and sends it. False: the viewer has gone.
bool PageServer::Inside::send_event(std::uint64_t& seen, httplib::DataSink& sink) {
  std::string text = ":\n\n";
  bool last = false;
  {
    std::unique_lock lock(mutex);
    for_viewers.wait_for(lock, kHeartbeat, [&] { return ended || pages > seen; });
    last = ended;
    if (last)
      text = fmt::format("event: end\ndata: {}\n\n", page ? page->data : "null");
    else if (pages > seen)
      text = fmt::format("retry: 1000\nevent: state\ndata: {}\n\n", page->state);
    seen = pages;
  }
  for (std::size_t at = 0; at < text.size(); at += kSlice)
    if (!sink.write(text.data() + at, std::min(kSlice, text.size() - at))) return false;
  if (last) sink.done();
  return true;
}

PageServer::PageServer(std::uint16_t port) : inside_(std::make_unique<Inside>()) {
  Inside& inside = *inside_;
  httplib::Server& http = inside.http;
  http.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // A port that another server has is taken: the library's own options would share it.
  http.set_socket_options([](int socket) {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  http.set_keep_alive_max_count(1);
  http.set_keep_alive_timeout(kPatience.count());  // It also bounds the wait for a request.
  http.set_read_timeout(kPatience);
  http.set_write_timeout(kPatience);
  http.set_payload_max_length(0);
  http.set_tcp_nodelay(true);
  http.set_default_headers(kHeaders);
  // Every request ends here, whatever its method and before its body is read.
  http.set_pre_routing_handler([&inside](const httplib::Request& request, httplib::Response& response) {
    inside.answer(request, response);
    return httplib::Server::HandlerResponse::Handled;
  });
  const bool bound = port == 0 ? (inside.port = http.bind_to_any_port(kLoopback)) > 0
                               : http.bind_to_port(kLoopback, inside.port = port);
  if (!bound) {
    throw machine_error(fmt::format("port {} of {} cannot be had ({}): name another, or 0 for a free one", port,
                                    kLoopback, why_no_port(port)));
  }
  inside.listener = std::thread([&http] { http.listen_after_bind(); });
  while (!http.is_running()) std::this_thread::sleep_for(1ms);  // Before that stop() does nothing.
}

PageServer::~PageServer() {
  end(0ms);
  inside_->http.stop();
  inside_->listener.join();
}

std::string PageServer::address() const {
  return fmt::format("http://{}:{}/{}/", kLoopback, inside_->port, inside_->token);
}

bool PageServer::wait_for_viewer(std::chrono::milliseconds patience) {
  std::unique_lock lock(inside_->mutex);
  inside_->for_owner.wait_for(lock, patience, [&] { return inside_->asked > inside_->answered; });
  return inside_->asked > inside_->answered || inside_->followers > 0;
}

void PageServer::show(ServedPage page) {
  const std::lock_guard lock(inside_->mutex);
  inside_->page = std::make_shared<const ServedPage>(std::move(page));
  ++inside_->pages;
  inside_->answered = inside_->asked;
  inside_->for_viewers.notify_all();
}

void PageServer::keep() {
  const std::lock_guard lock(inside_->mutex);
  inside_->answered = inside_->asked;
  inside_->for_viewers.notify_all();
}

bool PageServer::has_followers() const {
  const std::lock_guard lock(inside_->mutex);
  return inside_->followers > 0;
}

void PageServer::end(std::chrono::milliseconds patience) {
  std::unique_lock lock(inside_->mutex);
  inside_->ended = true;
  inside_->for_viewers.notify_all();
  inside_->for_owner.wait_for(lock, patience, [&] { return inside_->followers == 0; });
}

}  // namespace evo::cli

#else

namespace evo::cli {

struct PageServer::Inside {};

PageServer::PageServer(std::uint16_t) {
  throw machine_error(
      "this evo was built without cpp-httplib, which serves the page: build it again with libcpp-httplib-dev or access "
      "to raw.githubusercontent.com, or write the page with evo report -o report.html");
}

PageServer::~PageServer() = default;

std::string PageServer::address() const {
  return "";
}

bool PageServer::wait_for_viewer(std::chrono::milliseconds) {
  return false;
}

void PageServer::show(ServedPage) {}

void PageServer::keep() {}

bool PageServer::has_followers() const {
  return false;
}

void PageServer::end(std::chrono::milliseconds) {}

}  // namespace evo::cli

#endif
