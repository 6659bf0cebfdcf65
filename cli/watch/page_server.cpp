#include "cli/watch/page_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/watch/http_text.h"
#include "engine/base/error.h"
#include "evaluator/worker/channel.h"
#include "evaluator/worker/process.h"

namespace evo::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kLoopback = "127.0.0.1";
constexpr std::size_t kMostFollowers = 32;
constexpr std::size_t kMostViewers = 256;        ///< Connections.
constexpr std::size_t kMostHeadBytes = 8 << 10;  ///< Of a request.
constexpr auto kPatience = 2s;                   ///< For a viewer's request, and until it takes some of its answer.
constexpr auto kPagePatience = 10s;              ///< Of a viewer until the owner has looked whether its page is right.
constexpr auto kFurtherPatience = 60s;           ///< The same for a further page, which is made for the viewer.
constexpr auto kHeartbeat = 5s;                  ///< Between signs of life, which show that a viewer has gone.

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

/// A socket that listens there, and the port that it got.
std::pair<UniqueFd, int> listen_at(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  ::inet_pton(AF_INET, kLoopback, &place.sin_addr);
  auto* address = reinterpret_cast<sockaddr*>(&place);
  socklen_t size = sizeof place;
  if (!socket.is_open() || ::bind(socket.get(), address, size) != 0 || ::listen(socket.get(), SOMAXCONN) != 0 ||
      ::getsockname(socket.get(), address, &size) != 0) {
    throw machine_error(fmt::format("port {} of {} cannot be had ({}): name another, or 0 for a free one", port,
                                    kLoopback, std::strerror(errno)));
  }
  return {std::move(socket), ntohs(place.sin_port)};
}

}  // namespace

struct PageServer::Inside {
  /// A page that is made for one viewer.
  struct Further {
    std::string path;
    std::shared_ptr<const std::string> html;  ///< Null: there is no such page.
  };
  /// One connection.
  struct Viewer {
    enum class State : std::uint8_t {
      asks,     ///< Its request is on its way.
      waits,    ///< Until the owner has answered its question.
      follows,  ///< It gets events.
      takes,    ///< It is sent the rest of its answer.
      leaves    ///< It has all; what it still sends is dropped until it closes, so that its answer arrives.
    };
    UniqueFd socket;
    State state = State::asks;
    Clock::time_point deadline = Clock::now() + kPatience;
    std::string asked;  ///< Of the request, so far.
    bool wants_data = false;
    std::shared_ptr<Further> further;  ///< Null: it wants the page itself, or its data.
    bool counted = false;              ///< Among the followers, until it has its last event.
    std::uint64_t question = 0;        ///< Which the owner answers.
    std::uint64_t seen = 0;            ///< Pages that its events have told of.
    std::string head;                  ///< To be sent, then the body.
    std::shared_ptr<const std::string> body;
    std::size_t sent = 0;

    std::string_view rest() const {
      if (sent < head.size()) return std::string_view(head).substr(sent);
      return body ? std::string_view(*body).substr(sent - head.size()) : std::string_view();
    }
    void send(State next, std::string text, std::shared_ptr<const std::string> then = {}) {
      state = next;
      head = std::move(text);
      body = std::move(then);
      sent = 0;
      deadline = Clock::now() + kPatience;
    }
    void refuse(int status, const std::string& why, std::string_view more = {}) {
      send(State::takes, answer_head(status, "text/plain", why.size() + 1, more) + why + "\n");
    }
  };

  const std::string token = fresh_token();
  UniqueFd listener;
  int port = 0;
  WakeSignal wake;
  std::list<Viewer> viewers;  ///< The thread's, the oldest first.

  mutable std::mutex mutex;
  std::condition_variable for_owner;  ///< A question, or a follower that has gone.
  std::shared_ptr<const ServedPage> page;
  std::vector<std::shared_ptr<Further>> wanted;  ///< By viewers; the owner has not seen them yet.
  std::uint64_t pages = 0;                       ///< Shown so far.
  std::uint64_t asked = 0, answered = 0;
  std::size_t followers = 0;
  bool ended = false;
  std::atomic<bool> stopped = false;
  std::thread thread;

  void serve();
  Clock::time_point next_deadline() const;
  void admit();
  bool go_on(Viewer& viewer, short ready);
  bool take_request(Viewer& viewer);
  void answer(Viewer& viewer);
  void follow(Viewer& viewer);
  void give_page(Viewer& viewer);
  void give_event(Viewer& viewer);
  void change(const std::function<void()>& by);
};

void PageServer::Inside::serve() {
  while (!stopped) {
    std::vector<pollfd> polled = {{listener.get(), POLLIN, 0}, {wake.fd(), POLLIN, 0}};
    for (const Viewer& viewer : viewers)
      polled.push_back({viewer.socket.get(), static_cast<short>(viewer.rest().empty() ? POLLIN : POLLOUT), 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_deadline() - Clock::now()).count();
    if (::poll(polled.data(), polled.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000))) < 0) continue;
    if (polled[1].revents != 0) wake.clear();
    std::size_t at = 2;
    for (auto viewer = viewers.begin(); viewer != viewers.end();) {
      const bool stays = go_on(*viewer, polled[at++].revents);
      if (viewer->counted && (!stays || viewer->state == Viewer::State::leaves)) {
        viewer->counted = false;
        change([&] { --followers; });
      }
      viewer = stays ? std::next(viewer) : viewers.erase(viewer);
    }
    if (polled[0].revents != 0) admit();
  }
}

Clock::time_point PageServer::Inside::next_deadline() const {
  Clock::time_point next = Clock::now() + 60s;
  for (const Viewer& viewer : viewers) next = std::min(next, viewer.deadline);
  return next;
}

void PageServer::Inside::admit() {
  while (true) {
    UniqueFd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) return;
    if (viewers.size() >= kMostViewers) {
      const auto idle = std::ranges::find_if(viewers, [](const Viewer& viewer) {
        return viewer.state == Viewer::State::asks || viewer.state == Viewer::State::leaves;
      });
      if (idle == viewers.end()) continue;
      viewers.erase(idle);
    }
    viewers.emplace_back().socket = std::move(socket);
  }
}

/// False: the viewer has gone, or has to go.
bool PageServer::Inside::go_on(Viewer& viewer, short ready) {
  const bool late = Clock::now() >= viewer.deadline;
  if (!viewer.rest().empty()) {
    if (ready == 0) return !late;
    const std::string_view rest = viewer.rest();
    const ssize_t count = ::send(viewer.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    viewer.sent += static_cast<std::size_t>(count);
    viewer.deadline = Clock::now() + kPatience;
    if (!viewer.rest().empty()) return true;
    if (viewer.state == Viewer::State::follows) viewer.deadline = Clock::now() + kHeartbeat;
  }
  if (ready != 0 && viewer.state != Viewer::State::takes && !take_request(viewer)) return false;
  if (!viewer.rest().empty()) return true;
  switch (viewer.state) {
    case Viewer::State::waits:
      give_page(viewer);
      return true;
    case Viewer::State::follows:
      give_event(viewer);
      return true;
    case Viewer::State::takes:
      ::shutdown(viewer.socket.get(), SHUT_WR);
      viewer.state = Viewer::State::leaves;
      return true;
    default:
      return !late;
  }
}

/// Reads what there is. False: the viewer has gone.
bool PageServer::Inside::take_request(Viewer& viewer) {
  std::array<char, kMostHeadBytes> buffer{};
  const ssize_t count = ::recv(viewer.socket.get(), buffer.data(), buffer.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  if (viewer.state != Viewer::State::asks) return true;  // Nobody has to listen any more.
  viewer.asked.append(buffer.data(), static_cast<std::size_t>(count));
  const std::size_t end = viewer.asked.find("\r\n\r\n");
  if (end != std::string::npos) {
    viewer.asked.resize(end);
    answer(viewer);
  } else if (viewer.asked.size() > kMostHeadBytes) {
    viewer.refuse(400, "The request is too long.");
  }
  return true;
}

void PageServer::Inside::answer(Viewer& viewer) {
  const std::optional<HttpRequest> request = read_request(viewer.asked);
  if (!request) return viewer.refuse(400, "This is no request.");
  if (!names_this_machine(request->host))
    return viewer.refuse(403, "This page is for browsers of the machine that serves it.");
  if (request->method != "GET") return viewer.refuse(405, "This page can only be read.", "Allow: GET\r\n");
  const std::string_view path = std::string_view(request->path).substr(std::min<std::size_t>(1, request->path.size()));
  const std::size_t cut = path.find('/');
  if (!same_secret(path.substr(0, cut), token)) return viewer.refuse(404, "There is nothing here.");
  if (cut == path.npos) return viewer.refuse(301, "It is there.", fmt::format("Location: /{}/\r\n", token));
  const std::string_view wanted = path.substr(cut + 1);
  if (wanted == "events") return follow(viewer);
  viewer.wants_data = wanted == "data";
  if (!wanted.empty() && !viewer.wants_data)
    viewer.further = std::make_shared<Further>(Further{std::string(wanted), {}});
  viewer.state = Viewer::State::waits;
  viewer.deadline = Clock::now() + (viewer.further ? kFurtherPatience : kPagePatience);
  change([&] {
    viewer.question = ++asked;
    if (viewer.further) this->wanted.push_back(viewer.further);
  });
}

void PageServer::Inside::follow(Viewer& viewer) {
  const std::lock_guard lock(mutex);
  if (followers >= kMostFollowers)
    return viewer.refuse(503, fmt::format("{} viewers follow the page: that is the most.", followers));
  ++followers;
  viewer.counted = true;
  viewer.send(Viewer::State::follows, answer_head(200, "text/event-stream", std::nullopt, ""));
}

/// What a viewer that asks is to see: the owner is asked first, and may not answer.
void PageServer::Inside::give_page(Viewer& viewer) {
  const std::lock_guard lock(mutex);
  if (answered < viewer.question && !ended && Clock::now() < viewer.deadline) return;
  if (viewer.further) {
    if (answered < viewer.question) return viewer.refuse(503, "The page takes too long. Ask for it again.");
    if (!viewer.further->html) return viewer.refuse(404, "There is nothing here.");
    const std::shared_ptr<const std::string> html = viewer.further->html;
    return viewer.send(Viewer::State::takes, answer_head(200, "text/html; charset=utf-8", html->size(), ""), html);
  }
  if (!page) return viewer.refuse(503, "There is no page yet.");
  const std::shared_ptr<const std::string> body(page, viewer.wants_data ? &page->data : &page->html);
  const char* type = viewer.wants_data ? "application/json" : "text/html; charset=utf-8";
  viewer.send(Viewer::State::takes, answer_head(200, type, body->size(), ""), body);
}

void PageServer::Inside::give_event(Viewer& viewer) {
  const std::lock_guard lock(mutex);
  if (ended) {
    viewer.send(Viewer::State::takes,
                chunk(fmt::format("event: end\ndata: {}\n\n", page ? page->data : "null")) + chunk(""));
  } else if (pages > viewer.seen) {
    viewer.send(Viewer::State::follows, chunk(fmt::format("retry: 1000\nevent: state\ndata: {}\n\n", page->state)));
    viewer.seen = pages;
  } else if (Clock::now() >= viewer.deadline) {
    viewer.send(Viewer::State::follows, chunk(":\n\n"));
  }
}

/// Of what the owner waits for.
void PageServer::Inside::change(const std::function<void()>& by) {
  const std::lock_guard lock(mutex);
  by();
  for_owner.notify_all();
}

PageServer::PageServer(std::uint16_t port) : inside_(std::make_unique<Inside>()) {
  std::tie(inside_->listener, inside_->port) = listen_at(port);
  inside_->thread = std::thread([inside = inside_.get()] { inside->serve(); });
}

PageServer::~PageServer() {
  inside_->stopped = true;
  inside_->wake.raise();
  inside_->thread.join();
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
  inside_->wake.raise();
}

void PageServer::keep() {
  const std::lock_guard lock(inside_->mutex);
  inside_->answered = inside_->asked;
  inside_->wake.raise();
}

void PageServer::give_further(const std::function<std::string(const std::string&)>& make) {
  std::vector<std::shared_ptr<Inside::Further>> wanted;
  {
    const std::lock_guard lock(inside_->mutex);
    wanted.swap(inside_->wanted);
  }
  for (const std::shared_ptr<Inside::Further>& one : wanted) {
    if (one.use_count() == 1) continue;  // Its viewer has gone.
    std::string html = make(one->path);
    const std::lock_guard lock(inside_->mutex);
    if (!html.empty()) one->html = std::make_shared<const std::string>(std::move(html));
  }
}

bool PageServer::has_followers() const {
  const std::lock_guard lock(inside_->mutex);
  return inside_->followers > 0;
}

void PageServer::end(std::chrono::milliseconds patience) {
  std::unique_lock lock(inside_->mutex);
  inside_->ended = true;
  inside_->wake.raise();
  inside_->for_owner.wait_for(lock, patience, [&] { return inside_->followers == 0; });
}

}  // namespace evo::cli
