#include "evaluator/program/report.h"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace evo::program {
namespace {

/// So many launches are written each, later ones not more often than that.
constexpr std::uint64_t kWrittenEach = 100;
constexpr std::chrono::milliseconds kBetween{20};

}  // namespace

void Report::launched(const std::string& kernel, double us, std::uint64_t warp_instructions) {
  Launches& launches = launches_[kernel];
  ++launches.count;
  launches.us += us;
  launches.warp_instructions += warp_instructions;
  if (++count_ <= kWrittenEach || Time::now() - written_ >= kBetween) write();
}

void Report::failed(const std::string& reason) {
  failures_.push_back(reason);
  write();
}

void Report::findings(std::vector<vgpu::Finding> findings) {
  const bool grown = findings.size() > findings_.size();
  findings_ = std::move(findings);
  if (grown) write();
}

void Report::not_offered(const std::string& function) {
  for (const std::string& known : not_offered_)
    if (known == function) return;
  not_offered_.push_back(function);
}

void Report::write() {
  if (folder_.empty()) return;
  nlohmann::json json;
  json["launches"] = nlohmann::json::array();
  for (const auto& [kernel, launches] : launches_)
    json["launches"].push_back({{"kernel", kernel},
                                {"count", launches.count},
                                {"modelled_us", launches.us},
                                {"warp_instructions", launches.warp_instructions}});
  json["findings"] = nlohmann::json::array();
  for (const vgpu::Finding& finding : findings_)
    json["findings"].push_back({{"kind", static_cast<int>(finding.kind)},
                                {"kernel", finding.kernel},
                                {"line", finding.line},
                                {"text", finding.text},
                                {"brief", finding.brief},
                                {"count", finding.count}});
  json["failures"] = failures_;
  json["refused"] = refused_;
  json["not_offered"] = not_offered_;
  const std::string path = folder_ + "/" + std::to_string(::getpid()) + ".json", unfinished = path + ".unfinished";
  std::FILE* file = std::fopen(unfinished.c_str(), "w");
  if (file == nullptr) return;
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  std::rename(unfinished.c_str(), path.c_str());
  written_ = Time::now();
}

}  // namespace evo::program
