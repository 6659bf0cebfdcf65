#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace evo::cli {

/// A page as viewers see it.
struct ServedPage {
  std::string html;
  std::string data;   ///< The document that the page draws, as JSON in one line.
  std::string state;  ///< Sent to viewers as soon as there is another page: JSON in one line.
};

/// Serves one page to browsers of this machine:
///
///     GET /TOKEN/        the page
///     GET /TOKEN/data    its data
///     GET /TOKEN/events  server-sent events: "state" whenever another page is shown, "end" with the data at the end
///     GET /TOKEN/PATH    a further page, which the owner makes when it is asked for
///
/// It listens on 127.0.0.1 alone. Without the token, which is drawn anew each time, everything is 404. Other methods
/// than GET are 405. A Host that is no name of this machine is 403: a web site whose name resolves to 127.0.0.1 (DNS
/// rebinding) reads nothing. One thread serves all viewers and waits for none of them. A viewer that has not asked in
/// two seconds, or takes nothing for as long, is dropped; where there are too many, those go first that have not asked.
/// The owner uses it from one thread.
class PageServer {
 public:
  /// Port 0: a free one. Throws machine_error when the port cannot be had.
  explicit PageServer(std::uint16_t port);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  /// "http://127.0.0.1:41235/TOKEN/": who knows it may look.
  std::string address() const;

  /// Waits until a viewer asks for the page, `patience` at most. Returns whether one has asked or follows the events:
  /// the owner then calls show() or keep().
  bool wait_for_viewer(std::chrono::milliseconds patience);
  void show(ServedPage page);
  /// The page that is shown is still right.
  void keep();
  bool has_followers() const;
  /// Makes the further pages that viewers wait for. `make` gets a path without the token, and gives HTML; empty: there
  /// is no such page. Called before show() or keep(), which answer all that was asked.
  void give_further(const std::function<std::string(const std::string&)>& make);
  /// Sends the followers the last event. Returns when they have it, or after `patience`.
  void end(std::chrono::milliseconds patience);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace evo::cli
