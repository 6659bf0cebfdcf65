#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

struct Layer {
  std::string name;
  std::set<std::string> sees;        ///< The other layers that its files may include.
  std::vector<std::string> folders;  ///< A file may include files of its own folder and of the folders before it.
};

/// The map of the sources (docs/architecture.md).
const std::vector<Layer> kLayers = {
    {"engine",
     {},
     {"engine/base", "engine/record", "engine/result", "engine/device", "engine/expression", "engine/source",
      "engine/task", "engine/short_form", "engine/choices", "engine/space", "engine/strategy", "engine/attack",
      "engine/search", "engine/edits", "engine/replay"}},
    {"evaluator",
     {"engine"},
     {"evaluator/numbers",
      "evaluator/base",
      "evaluator/device",
      "evaluator/kernels",
      "evaluator/compile",
      "evaluator/cuda",
      "evaluator/vgpu/ptx",
      "evaluator/vgpu/numbers",
      "evaluator/vgpu/tcgen05",
      "evaluator/vgpu/textures",
      "evaluator/vgpu/machine",
      "evaluator/vgpu/decode",
      "evaluator/vgpu/parts",
      "evaluator/vgpu/isa",
      "evaluator/vgpu/isa/textures",
      "evaluator/vgpu/sanitiser",
      "evaluator/vgpu/cost",
      "evaluator/vgpu",
      "evaluator/program",
      "evaluator/program/runtime",
      "evaluator/program/driver",
      "evaluator/worker",
      "evaluator/hosts",
      "evaluator/judge",
      "evaluator/timing",
      "evaluator/pipeline"}},
    {"population",
     {"engine"},
     {"population/store", "population/code", "population/export", "population/package", "population/results"}},
    {"cli",
     {"engine", "evaluator", "population"},
     {"cli/text", "cli/sources", "cli/subject", "cli/kernel", "cli/check", "cli/edits", "cli/model", "cli/llm",
      "cli/run", "cli/proposer", "cli/mcp", "cli/rivals", "cli/report", "cli/watch", "cli/selftest", "cli/signature",
      "cli/shell", "cli/commands", "cli"}},
};

/// Too heavy, or too foreign, to be seen through a header of ours.
const std::vector<std::string> kOnlyInSources = {"nlohmann/json.hpp", "CLI/",    "SQLiteCpp/",
                                                 "sqlite3.h",         "spdlog/", "fmt/"};

/// Headers of templates over such a library, or of what a folder's sources share: only sources include them, and each
/// other.
const std::set<std::string> kForSources = {"engine/record/record_json.h",
                                           "cli/llm/conversation.h",
                                           "cli/proposer/known_candidates.h",
                                           "engine/expression/json_value.h",
                                           "evaluator/worker/wire_forms.h",
                                           "population/store/record_rows.h",
                                           "cli/text/streams.h",
                                           "cli/commands/commands.h"};

using Tree = std::map<std::string, std::string>;  ///< The text of every file by its path in the project.

struct SourceFile {
  std::string path;
  std::vector<std::string> quoted;
  std::vector<std::string> angled;
};

SourceFile scan(const std::string& path, const std::string& text) {
  static const std::regex include_line(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  SourceFile file{path, {}, {}};
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::smatch match;
    if (line.find("include") == std::string::npos || !std::regex_search(line, match, include_line)) continue;
    (match[1] == "<" ? file.angled : file.quoted).push_back(match[2]);
  }
  return file;
}

std::string top_of(const std::string& path) {
  return fs::path(path).begin()->string();
}

const Layer* layer_of(const std::string& path) {
  const auto layer = std::ranges::find(kLayers, top_of(path), &Layer::name);
  return layer == kLayers.end() ? nullptr : &*layer;
}

/// Where the folder of a file stands in its layer's order; -1 if the layer does not name it.
int folder_rank(const Layer& layer, const std::string& path) {
  const auto folder = std::ranges::find(layer.folders, fs::path(path).parent_path().string());
  return folder == layer.folders.end() ? -1 : static_cast<int>(folder - layer.folders.begin());
}

/// What a file may not include: other layers, folders that come later, unknown folders, heavy headers in a header.
std::vector<std::string> wrong_includes(const SourceFile& file) {
  const Layer& layer = *layer_of(file.path);
  const int rank = folder_rank(layer, file.path);
  if (rank < 0) return {file.path + " is in no folder that layer " + layer.name + " names"};
  std::vector<std::string> found;
  for (const std::string& include : file.quoted) {
    const Layer* const other = layer_of(include);
    if (other != &layer) {
      if (!layer.sees.contains(top_of(include))) {
        found.push_back(file.path + " includes " + include + ", which layer " + layer.name + " may not see");
      } else if (folder_rank(*other, include) < 0) {
        found.push_back(file.path + " includes " + include + ", in a folder that layer " + other->name +
                        " does not name");
      }
    } else if (const int included = folder_rank(layer, include); included < 0) {
      found.push_back(file.path + " includes " + include + ", in a folder that layer " + layer.name + " does not name");
    } else if (included > rank) {
      found.push_back(file.path + " includes " + include + ", in a folder above its own");
    }
  }
  if (file.path.ends_with(".h") && !kForSources.contains(file.path)) {
    for (const std::string& include : file.angled) {
      for (const std::string& heavy : kOnlyInSources) {
        if (include.starts_with(heavy)) found.push_back(file.path + " is a header and includes " + include);
      }
    }
    for (const std::string& include : file.quoted)
      if (kForSources.contains(include)) found.push_back(file.path + " is a header and includes " + include);
  }
  return found;
}

/// NAME.h, NAME.cpp and those NAME_*.cpp that have no header of their own are one unit, called NAME.
std::string unit_of(const Tree& tree, const std::string& path) {
  const std::string own = fs::path(path).replace_extension().string();
  for (std::string name = own;; name = name.substr(0, name.rfind('_'))) {
    if (tree.contains(name + ".h")) return name;
    const auto cut = name.rfind('_');
    if (cut == std::string::npos || cut < name.rfind('/')) return own;
  }
}

using Graph = std::map<std::string, std::set<std::string>>;

Graph unit_graph(const Tree& tree, const std::vector<SourceFile>& files) {
  Graph graph;
  for (const SourceFile& file : files) {
    const std::string unit = unit_of(tree, file.path);
    std::set<std::string>& included = graph[unit];
    for (const std::string& include : file.quoted) included.insert(unit_of(tree, include));
    included.erase(unit);
  }
  return graph;
}

/// The strongly connected components of more than one unit (Tarjan), each sorted.
std::vector<std::vector<std::string>> cycles_of(const Graph& graph) {
  std::map<std::string, int> index, low;
  std::vector<std::string> open;
  std::vector<std::vector<std::string>> cycles;
  const std::function<void(const std::string&)> visit = [&](const std::string& unit) {
    index[unit] = low[unit] = static_cast<int>(index.size());
    open.push_back(unit);
    if (const auto included = graph.find(unit); included != graph.end()) {
      for (const std::string& next : included->second) {
        if (!index.contains(next)) {
          visit(next);
          low[unit] = std::min(low[unit], low[next]);
        } else if (std::ranges::find(open, next) != open.end()) {
          low[unit] = std::min(low[unit], index[next]);
        }
      }
    }
    if (low[unit] != index[unit]) return;
    const auto first = std::ranges::find(open, unit);
    std::vector<std::string> component(first, open.end());
    open.erase(first, open.end());
    std::ranges::sort(component);
    if (component.size() > 1) cycles.push_back(std::move(component));
  };
  for (const auto& [unit, included] : graph) {
    if (!index.contains(unit)) visit(unit);
  }
  return cycles;
}

std::string describe(const Graph& graph, const std::vector<std::string>& cycle) {
  std::string text = "cycle of " + std::to_string(cycle.size()) + " units:";
  for (const std::string& unit : cycle) {
    text += "\n  " + unit + " includes";
    for (const std::string& included : graph.at(unit)) {
      if (std::ranges::binary_search(cycle, included)) text += " " + included;
    }
  }
  return text;
}

std::vector<std::string> violations(const Tree& tree) {
  std::vector<SourceFile> files;
  for (const auto& [path, text] : tree) files.push_back(scan(path, text));
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    std::ranges::copy(wrong_includes(file), std::back_inserter(found));
  }
  const Graph graph = unit_graph(tree, files);
  for (const auto& cycle : cycles_of(graph)) {
    found.push_back(describe(graph, cycle));
  }
  return found;
}

Tree project() {
  const fs::path root = EVO_SOURCE_DIR;
  Tree tree;
  for (const Layer& layer : kLayers) {
    for (const auto& entry : fs::recursive_directory_iterator(root / layer.name)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
      std::ifstream file(entry.path());
      tree[fs::relative(entry.path(), root).string()] =
          std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  return tree;
}

using Found = std::vector<std::string>;

}  // namespace

TEST_CASE("files include only what their layer and folder may see, and no units include each other in a cycle") {
  for (const std::string& violation : violations(project())) FAIL_CHECK(violation);
}

TEST_CASE("every folder of the map exists") {
  for (const Layer& layer : kLayers) {
    for (const std::string& folder : layer.folders) CHECK(fs::is_directory(fs::path(EVO_SOURCE_DIR) / folder));
  }
}

TEST_CASE("the library for whole programs includes nothing but itself and what the virtual GPU includes") {
  for (const auto& [path, text] : project()) {
    if (!path.starts_with("evaluator/program/")) continue;
    for (const std::string& include : scan(path, text).quoted) {
      INFO(path << " includes " << include);
      CHECK((include.starts_with("evaluator/program/") || include.starts_with("evaluator/vgpu/") ||
             include.starts_with("engine/base/") || include.starts_with("engine/device/") ||
             include.starts_with("engine/result/")));
    }
  }
}

TEST_CASE("a planted include of another layer is found") {
  CHECK(violations({{"engine/base/a.cpp", "#include \"evaluator/device/device.h\"\n"}}) ==
        Found{"engine/base/a.cpp includes evaluator/device/device.h, which layer engine may not see"});
  CHECK(violations({{"evaluator/base/a.h", "  # include \"population/store/store.h\"\n"}}) ==
        Found{"evaluator/base/a.h includes population/store/store.h, which layer evaluator may not see"});
  CHECK(violations({{"population/store/a.cpp", "#include \"cli/text/table.h\"\n"}}) ==
        Found{"population/store/a.cpp includes cli/text/table.h, which layer population may not see"});
  CHECK(violations({{"engine/base/a.cpp", "#include \"b.h\"\n"}}) ==
        Found{"engine/base/a.cpp includes b.h, which layer engine may not see"});
}

TEST_CASE("a planted heavy header in a header is found") {
  CHECK(violations({{"engine/base/a.h", "#include <nlohmann/json.hpp>\n"}}) ==
        Found{"engine/base/a.h is a header and includes nlohmann/json.hpp"});
  CHECK(violations({{"engine/base/a.cpp", "#include <nlohmann/json.hpp>\n#include \"engine/base/a.h\"\n"}}).empty());
}

TEST_CASE("a planted include of a folder above is found") {
  CHECK(violations({{"engine/base/a.cpp", "#include \"engine/task/task.h\"\n"}}) ==
        Found{"engine/base/a.cpp includes engine/task/task.h, in a folder above its own"});
  CHECK(violations({{"evaluator/worker/a.h", "#include \"evaluator/vgpu/machine/warp.h\"\n"},
                    {"cli/main.cpp", "#include \"cli/commands/commands.h\"\n"}})
            .empty());
}

TEST_CASE("a planted folder that the map does not name is found, from within and from outside") {
  CHECK(violations({{"engine/attic/a.h", ""}}) == Found{"engine/attic/a.h is in no folder that layer engine names"});
  CHECK(violations({{"engine/base/a.h", "#include \"engine/attic/b.h\"\n"}}) ==
        Found{"engine/base/a.h includes engine/attic/b.h, in a folder that layer engine does not name"});
  CHECK(violations({{"evaluator/base/a.h", "#include \"engine/b.h\"\n"}}) ==
        Found{"evaluator/base/a.h includes engine/b.h, in a folder that layer engine does not name"});
  CHECK(violations({{"evaluator/a.cpp", ""}}) == Found{"evaluator/a.cpp is in no folder that layer evaluator names"});
}

TEST_CASE("a planted cycle of units is found") {
  CHECK(violations({{"engine/base/a.h", "#include \"engine/base/b.h\"\n"},
                    {"engine/base/b.h", "#include \"engine/base/a.h\"\n"}}) ==
        Found{"cycle of 2 units:\n  engine/base/a includes engine/base/b\n  engine/base/b includes engine/base/a"});
}

TEST_CASE("a planted cycle of units through a source file is found") {
  const std::string cycle =
      "cycle of 2 units:\n  engine/base/a includes engine/base/b\n  engine/base/b includes engine/base/a";
  CHECK(violations({{"engine/base/a.h", ""},
                    {"engine/base/a.cpp", "#include \"engine/base/a.h\"\n#include \"engine/base/b.h\"\n"},
                    {"engine/base/b.h", "#include \"engine/base/a.h\"\n"}}) == Found{cycle});
  CHECK(violations({{"engine/base/a.h", ""},
                    {"engine/base/a_read_more.cpp", "#include \"engine/base/a.h\"\n#include \"engine/base/b.h\"\n"},
                    {"engine/base/b.h", "#include \"engine/base/a.h\"\n"}}) == Found{cycle});
  CHECK(violations({{"engine/base/a.h", ""},
                    {"engine/base/a_read.h", ""},
                    {"engine/base/a_read.cpp", "#include \"engine/base/a.h\"\n#include \"engine/base/b.h\"\n"},
                    {"engine/base/b.h", "#include \"engine/base/a.h\"\n"}})
            .empty());
}

TEST_CASE("the folders at the top are the ones the architecture names") {
  for (const char* folder :
       {"engine", "evaluator", "population", "cli", "templates", "tests", "docs", "cmake", "runs"}) {
    CHECK(fs::is_directory(fs::path(EVO_SOURCE_DIR) / folder));
  }
}
