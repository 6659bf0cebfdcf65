// `evo watch` and `evo run --watch`: who may see what, and that no viewer costs the search anything.
#include <fmt/format.h>
#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "browser_check.h"
#include "http_viewer.h"
#include "population/store/store.h"
#include "tests/cli/bench.h"

using namespace evo::testing;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

using Json = nlohmann::json;

/// Long enough that viewers come before it ends.
const std::vector<std::string> kWatchedRun = {"run",     "--task", "toy",    "--device", "vgpu",
                                              "--evals", "52",     "--seed", "1",        "--watch"};

ProcessOptions inside(const Bench& bench) {
  return {.folder = bench.folder()};
}

void make_run(const Bench& bench, int evaluations) {
  write_toy_task(bench, true);
  REQUIRE(bench
              .evo({"run", "--task", "toy", "--device", "vgpu", "--evals", std::to_string(evaluations), "--seed", "1",
                    "--quiet"})
              .code == 0);
}

void resume(const Bench& bench, int evaluations) {
  REQUIRE(bench.evo({"run", "--resume", "1", "--evals", std::to_string(evaluations), "--quiet"}).code == 0);
}

/// An `evo watch`, ended at the end of the scope.
struct Watch {
  explicit Watch(const Bench& bench, std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), "watch");
    process = std::make_unique<EvoProcess>(arguments, inside(bench));
    address = std::make_unique<ServedAddress>(process->wait_for_line("http://"));
  }
  std::unique_ptr<EvoProcess> process;
  std::unique_ptr<ServedAddress> address;
};

/// A viewer that follows the events.
std::unique_ptr<HttpViewer> follower_of(const ServedAddress& address) {
  auto viewer = std::make_unique<HttpViewer>(address.port);
  viewer->send(fmt::format("GET {}events HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", address.path, address.port));
  viewer->wait_for("event: state");
  CHECK_THAT(viewer->text(), ContainsSubstring("Content-Type: text/event-stream"));
  return viewer;
}

/// The text of a chunked body.
std::string without_chunks(const std::string& response) {
  std::string text;
  for (std::size_t at = response.find("\r\n\r\n") + 4; at < response.size();) {
    const std::size_t size = std::stoul(response.substr(at), nullptr, 16);
    at = response.find("\r\n", at) + 2;
    text += response.substr(at, size);
    at += size + 2;
    if (size == 0) break;
  }
  return text;
}

/// The data of the last event of that name.
Json last_event(const std::string& response, const std::string& name) {
  const std::string text = without_chunks(response);
  const std::size_t at = text.rfind("event: " + name + "\ndata: ");
  INFO(text.substr(0, 2000));
  REQUIRE(at != std::string::npos);
  const std::size_t begin = text.find("data: ", at) + 6;
  return Json::parse(text.substr(begin, text.find("\n\n", begin) - begin));
}

/// The process that serves the page of a run.
pid_t watching_child(pid_t parent) {
  std::ifstream stream(fmt::format("/proc/{0}/task/{0}/children", parent));
  for (pid_t child = 0; stream >> child;) {
    std::ifstream file(fmt::format("/proc/{}/cmdline", child));
    const std::string words{std::istreambuf_iterator<char>(file), {}};
    if (words.find("watch-run") != std::string::npos) return child;
  }
  FAIL("evo run --watch has no child that serves");
  return 0;
}

void wait_until_unserved(int port) {
  while (is_served(port)) std::this_thread::sleep_for(50ms);
}

}  // namespace

TEST_CASE("evo watch serves the report's page, its data and its events to who knows the address") {
  const Bench bench;
  make_run(bench, 8);
  const Watch watch(bench);
  const ServedAddress& address = *watch.address;

  const HttpAnswer page = http_request(address, "GET", address.path);
  CHECK(page.status == 200);
  CHECK_THAT(page.head, ContainsSubstring("Content-Type: text/html") && ContainsSubstring("Cache-Control: no-store") &&
                            ContainsSubstring("Referrer-Policy: no-referrer") &&
                            ContainsSubstring("frame-ancestors 'none'"));
  CHECK_THAT(page.body, ContainsSubstring("<h1 id=\"title\">") && ContainsSubstring("EventSource") &&
                            ContainsSubstring("connect-src 'self'"));

  const HttpAnswer data = http_request(address, "GET", address.path + "data");
  CHECK(data.status == 200);
  Json served = Json::parse(data.body);
  CHECK(served["live"] == Json{{"revision", 1}, {"running", false}});
  served.erase("live");
  CHECK(served["index"] == "runs");
  served.erase("index");
  REQUIRE(bench.evo({"report", "-o", "data.json", "--explain", "0"}).code == 0);
  CHECK(served == Json::parse(bench.read("data.json")));

  // Written to a file, the page cannot load or send anything.
  REQUIRE(bench.evo({"report", "-o", "page.html"}).code == 0);
  CHECK_FALSE(holds(bench.read("page.html"), "EventSource"));
  CHECK_FALSE(holds(bench.read("page.html"), "connect-src"));

  const std::string token = address.path.substr(1, 32);
  const std::string other = (token[0] == '0' ? "1" : "0") + token.substr(1);
  for (const std::string& path :
       {std::string("/"), std::string("/data"), "/" + other + "/", "/" + other + "/data", "/" + token.substr(1) + "/",
        "/" + token + "0/", address.path + "else", address.path + "../data", "//" + token + "/", "/?" + token}) {
    INFO(path);
    const HttpAnswer answer = http_request(address, "GET", path);
    CHECK(answer.status == 404);
    CHECK_FALSE(holds(answer.head + answer.body, token));
  }
  CHECK(http_request(address, "GET", "/" + token).status == 301);

  // Nobody but this machine can connect.
  std::ifstream listeners("/proc/net/tcp");
  const std::string lines{std::istreambuf_iterator<char>(listeners), {}};
  CHECK(holds(lines, fmt::format(" 0100007F:{:04X} 00000000:0000 0A", address.port)));
  CHECK_FALSE(holds(lines, fmt::format(" 00000000:{:04X} 00000000:0000 0A", address.port)));

  // Another time it is another address.
  CHECK(Watch(bench).address->path != address.path);

  watch.process->send(SIGTERM);
  CHECK(watch.process->finish().code == 0);
}

TEST_CASE("evo watch has an index of all runs, and a page for each of them and for each ranking") {
  const Bench bench;
  make_run(bench, 4);
  resume(bench, 6);
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "3", "--seed", "2", "--quiet"}).code == 0);
  const Watch watch(bench, {"1"});
  const ServedAddress& address = *watch.address;
  const auto data_of = [&](const std::string& path) {
    const HttpAnswer answer = http_request(address, "GET", address.path + path);
    REQUIRE(answer.status == 200);
    const std::string begin = "id=\"data\">";
    const std::size_t at = answer.body.find(begin) + begin.size();
    return Json::parse(answer.body.substr(at, answer.body.find("</script>", at) - at));
  };
  const Json index = data_of("runs");
  REQUIRE(index["runs"].size() == 2);
  CHECK(index["runs"][0]["page"] == "run/2");
  REQUIRE(index["boards"].size() == 1);
  CHECK(index["boards"][0]["page"] == "ranking/2");
  CHECK(data_of("run/2")["candidates"]["id"].size() == 3);
  CHECK(data_of("run/1")["index"] == "../runs");
  CHECK(data_of("ranking/2")["runs"].size() == 2);
  for (const char* path : {"run/7", "run/", "run", "ranking/0", "run/1/2", "runs/1", "run/-1", "run/01"}) {
    INFO(path);
    CHECK(http_request(address, "GET", address.path + path).status == 404);
  }
  // They are no live pages: they ask for nothing.
  CHECK_FALSE(holds(http_request(address, "GET", address.path + "run/1").body, "EventSource"));
}

TEST_CASE("nothing but reading is allowed on a watched page, and only by browsers of this machine") {
  const Bench bench;
  make_run(bench, 4);
  const Watch watch(bench);
  const ServedAddress& address = *watch.address;
  const std::string database = bench.read("runs/evo.db");
  const std::string host = fmt::format("Host: 127.0.0.1:{}\r\n", address.port);
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"}) {
    INFO(method);
    const HttpAnswer answer = http_request(address, method, address.path, host + "Content-Length: 0\r\n");
    CHECK(answer.status == 405);
    CHECK_THAT(answer.head, ContainsSubstring("Allow: GET"));
  }
  // A body is not waited for.
  CHECK(http_request(address, "POST", address.path + "data", host + "Content-Length: 1000000000\r\n").status == 405);

  for (const char* name : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.0.1", ""}) {
    INFO(name);
    CHECK(http_request(address, "GET", address.path, fmt::format("Host: {}:{}\r\n", name, address.port)).status == 403);
  }
  CHECK(http_request(address, "GET", address.path, "Accept: */*\r\n").status == 403);
  // The other end of a tunnel has another port.
  CHECK(http_request(address, "GET", address.path, "Host: LOCALHOST:8080\r\n").status == 200);
  CHECK(bench.read("runs/evo.db") == database);
}

TEST_CASE("viewers are told when candidates arrive and when the run is over, each of them") {
  const Bench bench;
  make_run(bench, 4);
  const Watch watch(bench);
  const auto first = follower_of(*watch.address), second = follower_of(*watch.address);
  // One that does not read, and some that ask for nothing.
  const auto deaf = follower_of(*watch.address);
  std::vector<std::unique_ptr<HttpViewer>> silent;
  for (int i = 0; i < 3; ++i) silent.push_back(std::make_unique<HttpViewer>(watch.address->port));

  resume(bench, 9);
  for (HttpViewer* viewer : {first.get(), second.get()}) {
    viewer->wait_for("\"revision\":2");
    std::size_t at = 0;  // Perhaps while it was running, and in any case after.
    do at = viewer->wait_for("\"revision\":", at + 1);
    while (viewer->text().compare(viewer->wait_for("\"running\":", at), 15, "\"running\":false") != 0 ||
           viewer->text().compare(at, 12, "\"revision\":1") == 0);
  }
  const Json data = Json::parse(http_request(*watch.address, "GET", watch.address->path + "data").body);
  CHECK(data["candidates"]["id"].size() == 9);
  CHECK(data["live"]["running"] == false);

  watch.process->send(SIGINT);
  for (HttpViewer* viewer : {first.get(), second.get()})
    CHECK(last_event(viewer->read_all(), "end")["candidates"]["id"].size() == 9);
  CHECK(watch.process->finish().code == 0);
  CHECK_FALSE(is_served(watch.address->port));
}

TEST_CASE("evo run --watch shows the run from its beginning to its end") {
  const Bench bench;
  write_toy_task(bench, true);
  EvoProcess run(kWatchedRun, inside(bench));
  const ServedAddress address(run.wait_for_line("watch it: http://"));
  const auto viewer = follower_of(address);
  const Json begun = Json::parse(http_request(address, "GET", address.path + "data").body);
  CHECK(begun["live"]["running"] == true);
  const Outcome outcome = run.finish();
  CHECK(outcome.code == 0);
  const Json end = last_event(viewer->read_all(), "end");
  CHECK(end["candidates"]["id"].size() == 52);
  CHECK(end["live"]["running"] == false);
  CHECK(end["live"]["revision"] > 2);
  CHECK_FALSE(is_served(address.port));
}

TEST_CASE("viewers that hang, and a server that hangs, cost the search nothing", "[long]") {
  const Bench bench;
  write_toy_task(bench, true);
  EvoProcess run(kWatchedRun, inside(bench));
  const ServedAddress address(run.wait_for_line("watch it: http://"));
  ::kill(run.pid(), SIGSTOP);  // Until all viewers are there.
  // More than the server has threads: the first follow the events and never read, the others never ask.
  std::vector<std::unique_ptr<HttpViewer>> hanging;
  for (int i = 0; i < 60; ++i) {
    hanging.push_back(std::make_unique<HttpViewer>(address.port));
    if (i < 20)
      hanging.back()->send(fmt::format("GET {}events HTTP/1.1\r\nHost: localhost\r\n\r\n", address.path));
    else if (i < 40)
      hanging.back()->send("GET /");
  }
  ::kill(watching_child(run.pid()), SIGSTOP);
  ::kill(run.pid(), SIGCONT);
  const Outcome outcome = run.finish();
  CHECK(outcome.code == 0);
  CHECK(bench.json({"runs"})["runs"][0]["evaluated"] == 52);
  CHECK(bench.json({"runs"})["runs"][0]["status"] == "finished");
  wait_until_unserved(address.port);
}

TEST_CASE("a watched run that is killed takes its server with it, and one whose server is killed goes on") {
  const Bench bench;
  write_toy_task(bench, true);
  {
    EvoProcess run(kWatchedRun, inside(bench));
    const ServedAddress address(run.wait_for_line("watch it: http://"));
    ::kill(run.pid(), SIGKILL);
    wait_until_unserved(address.port);
  }
  EvoProcess run({"run", "--resume", "1", "--watch"}, inside(bench));
  const ServedAddress address(run.wait_for_line("watch it: http://"));
  ::kill(watching_child(run.pid()), SIGKILL);
  CHECK(run.finish().code == 0);
  CHECK(bench.json({"runs"})["runs"][0]["evaluated"] == 52);
}

TEST_CASE("the server of a watched page has a bounded number of followers") {
  const Bench bench;
  make_run(bench, 2);
  const Watch watch(bench);
  std::vector<std::unique_ptr<HttpViewer>> followers;
  for (int i = 0; i < 32; ++i) followers.push_back(follower_of(*watch.address));
  CHECK(http_request(*watch.address, "GET", watch.address->path + "events").status == 503);
  CHECK(http_request(*watch.address, "GET", watch.address->path).status == 200);
}

TEST_CASE("whoever sends or reads slowly, with or without the token, does not keep others from the page") {
  const Bench bench;
  make_run(bench, 2);
  const Watch watch(bench);
  const ServedAddress& address = *watch.address;
  std::vector<std::unique_ptr<HttpViewer>> slow;
  const auto connect = [&](int count, const std::string& text) {
    for (int i = 0; i < count; ++i) {
      slow.push_back(std::make_unique<HttpViewer>(address.port));
      slow.back()->send(text);
    }
  };
  // More than are served at once. None reads; those behind them need not wait for their end.
  connect(80, "GET / HTTP/1.1\r\nHost: ");
  connect(60, "");
  connect(60, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  connect(60, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  connect(20, fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", address.path));
  connect(60, std::string(5000, 'x'));
  CHECK(http_request(address, "GET", address.path).status == 200);
  const auto follower = follower_of(address);
  for (int i = 0; i < 3; ++i) {
    connect(120, "GET /");
    CHECK(http_request(address, "GET", address.path + "data").status == 200);
  }
  // A request may come in pieces, but not without an end.
  HttpViewer endless(address.port);
  endless.send(std::string(9000, 'x'));
  CHECK_THAT(endless.read_all(), ContainsSubstring("400 Bad Request"));
}

TEST_CASE("what cannot be watched is refused in one line, before anything is written") {
  const Bench bench;
  check_refused(bench.evo({"watch"}), 2, {"runs/evo.db"});
  make_run(bench, 2);
  check_refused(bench.evo({"watch", "7"}), 2, {"7"});
  check_refused(bench.evo({"watch", "--task", "toi"}), 2, {"toi"});
  check_refused(bench.evo({"watch", "--port", "65536"}), 2, {"--port", "65535"});
  check_refused(bench.evo({"watch", "--port", "http"}), 2, {"--port", "http"});
  const Watch watch(bench);
  const std::string taken = std::to_string(watch.address->port);
  check_refused(bench.evo({"watch", "--port", taken}), 3, {"port " + taken, "in use", "0 for a free one"});
  std::vector<std::string> run = kWatchedRun;
  run.insert(run.end(), {taken, "--db", "other.db"});
  check_refused(bench.evo(run), 3, {"port " + taken, "in use"});
  CHECK_FALSE(std::filesystem::exists(bench / "other.db"));
  run[run.size() - 3] = "many";
  check_refused(bench.evo(run), 2, {"--watch", "many"});
}

TEST_CASE("evo watch takes in runs that begin later") {
  const Bench bench;
  make_run(bench, 3);
  const Watch newest(bench), task(bench, {"--task", "toy"}), first(bench, {"1"});
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "3", "--seed", "2", "--quiet"}).code == 0);
  const auto runs = [](const Watch& watch) {
    const Json data = Json::parse(http_request(*watch.address, "GET", watch.address->path + "data").body);
    std::vector<int> ids;
    for (const Json& run : data["runs"]) ids.push_back(run["id"]);
    return ids;
  };
  CHECK(runs(newest) == std::vector{2});
  CHECK(runs(task) == std::vector{1, 2});
  CHECK(runs(first) == std::vector{1});
}

TEST_CASE("a watched page follows its runs in a browser and keeps what the viewer has chosen", "[long]") {
  const Bench bench;
  make_run(bench, 12);
  {
    // Run 2 has begun and found nothing yet.
    evo::Store store = evo::Store::open(bench / "runs/evo.db", evo::Store::Mode::write);
    evo::RunInfo info = store.run(1)->info;
    info.files = store.task_files(info.task_hash);
    REQUIRE(store.begin_run(info) == 2);
  }
  check_in_browser("check_watch.py", {bench.folder(), EVO_BINARY}, bench / "browser.log");
}
