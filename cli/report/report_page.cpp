#include "cli/report/report_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "cli/text/svg_text.h"
#include "engine/base/error.h"

// The texts of cli/report/page/ and of uPlot (cmake/embed_text.cmake).
namespace evo::embedded {
extern const std::string_view page_frame, index_frame, page_style, page_base, page_rows, page_index, page_live;
extern const std::span<const std::string_view> page_sections;
extern const std::string_view uplot_script, uplot_style, uplot_licence;
}  // namespace evo::embedded

namespace evo::cli {
namespace {

/// The frame with "{{NAME}}" replaced by the part of that name. Parts are not searched for names.
std::string filled(std::string_view frame, const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string page;
  while (!frame.empty()) {
    const std::size_t open = frame.find("{{");
    page += frame.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = frame.find("}}", open);
    const std::string_view name = frame.substr(open + 2, close - open - 2);
    for (const auto& [part, text] : parts)
      if (part == name) page += text;
    frame.remove_prefix(close + 2);
  }
  return page;
}

}  // namespace

std::string json_for_script(const nlohmann::ordered_json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      escaped += "\\u003c";  // Outside of strings JSON has no "<".
    else
      escaped += c;
  }
  return escaped;
}

std::string report_page(const nlohmann::ordered_json& data, PageUse use) {
  if (embedded::uplot_script.empty()) {
    throw machine_error(
        "this evo was built without uPlot, which draws the page: build it again with npm or access to github.com, "
        "or write the page's data with -o report.json");
  }
  const std::string title = fmt::format("{} on {}: evo report", data["task"]["name"].get<std::string>(),
                                        data["device"]["name"].get<std::string>());
  std::string scripts = std::string(embedded::page_base) + std::string(embedded::page_rows);
  for (const std::string_view script : embedded::page_sections) scripts += script;
  if (use == PageUse::live) scripts += embedded::page_live;
  return filled(embedded::page_frame,
                {{"title", svg_text(title)},
                 {"connections", use == PageUse::live ? "; connect-src 'self'" : ""},
                 {"library style", std::string(embedded::uplot_style)},
                 {"style", std::string(embedded::page_style)},
                 {"library", fmt::format("/*\n{}*/\n{}", embedded::uplot_licence, embedded::uplot_script)},
                 {"data", json_for_script(data)},
                 {"scripts", scripts}});
}

std::string filled_index(const nlohmann::ordered_json& data) {
  return filled(embedded::index_frame,
                {{"title", "All runs: evo report"},
                 {"style", std::string(embedded::page_style)},
                 {"data", json_for_script(data)},
                 {"scripts", std::string(embedded::page_base) + std::string(embedded::page_rows) +
                                 std::string(embedded::page_index)}});
}

}  // namespace evo::cli
