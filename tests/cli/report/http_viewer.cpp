#include "http_viewer.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <regex>

namespace evo::testing {
namespace {

/// A connected socket; -1 when nobody listens.
int connected_socket(int port) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(made >= 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, "127.0.0.1", &place.sin_addr);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0) return made;
  ::close(made);
  return -1;
}

}  // namespace

ServedAddress::ServedAddress(const std::string& line) {
  static const std::regex form(R"(http://127\.0\.0\.1:([0-9]+)(/[0-9a-f]{32}/))");
  std::smatch match;
  INFO(line);
  REQUIRE(std::regex_search(line, match, form));
  port = std::stoi(match[1]);
  path = match[2];
}

HttpViewer::HttpViewer(int port, std::chrono::seconds deadline)
    : socket_(connected_socket(port)), end_(std::chrono::steady_clock::now() + deadline) {
  REQUIRE(socket_ >= 0);
}

HttpViewer::~HttpViewer() {
  ::close(socket_);
}

void HttpViewer::send(const std::string& text) const {
  REQUIRE(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
}

bool HttpViewer::read_some() {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now()).count();
  pollfd polled{socket_, POLLIN, 0};
  if (left <= 0 || ::poll(&polled, 1, static_cast<int>(left)) == 0)
    FAIL("the server has not answered in time; it said:\n" << text_);
  std::array<char, 1 << 16> buffer{};
  const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  text_.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

std::size_t HttpViewer::wait_for(const std::string& text, std::size_t from) {
  while (true) {
    if (const std::size_t at = text_.find(text, from); at != std::string::npos) return at;
    if (!read_some()) FAIL("the server has closed without sending '" << text << "'; it said:\n" << text_);
  }
}

std::string HttpViewer::read_all() {
  while (read_some()) {
  }
  return text_;
}

bool is_served(int port) {
  const int made = connected_socket(port);
  if (made >= 0) ::close(made);
  return made >= 0;
}

HttpAnswer http_request(const ServedAddress& address, const std::string& method, const std::string& path,
                        const std::string& head) {
  HttpViewer viewer(address.port);
  viewer.send(fmt::format("{} {} HTTP/1.1\r\n{}\r\n", method, path,
                          head.empty() ? fmt::format("Host: 127.0.0.1:{}\r\n", address.port) : head));
  const std::string text = viewer.read_all();
  INFO(text.substr(0, 1000));
  const std::size_t cut = text.find("\r\n\r\n");
  REQUIRE(text.starts_with("HTTP/1.1 "));
  REQUIRE(cut != std::string::npos);
  return {std::stoi(text.substr(9, 3)), text.substr(0, cut), text.substr(cut + 4)};
}

}  // namespace evo::testing
