#pragma once

#include <chrono>
#include <string>

namespace evo::testing {

/// An address as evo prints it: "http://127.0.0.1:41235/TOKEN/".
struct ServedAddress {
  explicit ServedAddress(const std::string& line);  ///< The line that holds it.

  int port = 0;
  std::string path;  ///< "/TOKEN/"
};

/// A connection to a port of this machine. What takes longer than the deadline fails the test.
class HttpViewer {
 public:
  explicit HttpViewer(int port, std::chrono::seconds deadline = std::chrono::minutes(5));
  ~HttpViewer();
  HttpViewer(const HttpViewer&) = delete;
  HttpViewer& operator=(const HttpViewer&) = delete;

  void send(const std::string& text) const;
  /// Reads until what has come holds the text, from `from` on; returns where it begins.
  std::size_t wait_for(const std::string& text, std::size_t from = 0);
  /// Reads until the other end closes the connection; returns all that has come.
  std::string read_all();
  const std::string& text() const { return text_; }

 private:
  bool read_some();

  int socket_ = -1;
  std::chrono::steady_clock::time_point end_;
  std::string text_;
};

/// Whether somebody listens there.
bool is_served(int port);

struct HttpAnswer {
  int status = 0;
  std::string head;
  std::string body;
};

/// One request. `head`: the lines of its head but the first, each with its "\r\n"; empty: the right Host.
HttpAnswer http_request(const ServedAddress& address, const std::string& method, const std::string& path,
                        const std::string& head = "");

}  // namespace evo::testing
