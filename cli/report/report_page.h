#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evo::cli {

/// What a page is for.
enum class PageUse {
  file,  ///< To be kept and sent: it loads and sends nothing.
  live,  ///< To be served (cli/watch): it asks its server for new data while its runs go on.
};

/// The document of page_data() as one HTML file that needs no other: data, scripts, styles and the plotting library
/// with its licence are in it. No text of the data can end the element that holds it. Throws machine_error when evo was
/// built without the plotting library.
std::string report_page(const nlohmann::ordered_json& data, PageUse use = PageUse::file);

/// The index of runs (cli/report/index_page.h) from its document, likewise. It draws no plots.
std::string filled_index(const nlohmann::ordered_json& data);

/// JSON as it may stand in a script element: "<" is written as an escape, so that neither "</script>" nor "<!--" can
/// occur. It is the same document to every reader of JSON.
std::string json_for_script(const nlohmann::ordered_json& data);

}  // namespace evo::cli
