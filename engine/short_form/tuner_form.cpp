#include "engine/short_form/tuner_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/base/text.h"
#include "engine/expression/json_place.h"
#include "engine/expression/json_value.h"

namespace evo {
namespace {

using Json = nlohmann::ordered_json;

struct Counterpart {
  std::string_view key;
  std::string_view in_evo;
};

/// Arguments of Kernel Tuner's tune_kernel() that ten lines do not take.
constexpr Counterpart kCounterparts[] = {
    {"answer", R"(write a kernel that computes it: "reference": "k.cu:plain", "reference_grid", "reference_block")"},
    {"atol", R"(write "limits": {"atol": 1e-6}, or under an output's name: "limits": {"c": {"atol": 1e-6}})"},
    {"verify", R"(write a "reference", a kernel, and "limits" (docs/templates.md))"},
    {"metrics", R"(there are none of your own; "floor": {"flops": "2 * N", "bytes": "12 * N", "math": "f32"} shows )"
                "how near to the device's bound a kernel is"},
    {"objective", "evo minimises the latency of each shape, and of sets of shapes (--objective)"},
    {"objective_higher_is_better", "evo minimises the latency (--objective)"},
    {"cmem_args", R"(write "constants": {"d_filter": "filter=float[17]"})"},
    {"texmem_args", "textures are not supported: read the data from a tensor"},
    {"strategy", "the command line has it: --strategy"},
    {"strategy_options", "the command line has them: --strategy, --evals, --seed"},
    {"cache", "the command line has it: --db keeps every result"},
    {"simulation_mode", "evo replay searches in recorded results"},
    {"iterations", "evo measures until the interval is narrow"},
    {"observers", "evo profile shows counters of the GPU, and why a kernel takes its time"},
    {"device", "the command line has it: --device"},
    {"platform", "the command line has it: --device"},
    {"compiler", "the compiler is NVRTC"},
    {"quiet", "the command line has it: --quiet"},
    {"verbose", "the command line has it: evo show says what became of a candidate"},
};

bool is_whole_number(const Json& json) {
  if (json.is_number_integer()) return true;
  return json.is_string() && number_in<std::int64_t>(trim(json.get_ref<const std::string&>())).has_value();
}

std::int64_t whole_number(const Json& json) {
  return json.is_string() ? *number_in<std::int64_t>(trim(json.get_ref<const std::string&>()))
                          : json.get<std::int64_t>();
}

class TunerTranslator {
 public:
  TunerTranslator(const std::string& text, const std::string& file)
      : file_(file), root_(JsonPlace::read({{file, text}}, file)), json_(Json::parse(text)) {}

  TunerForm translate() {
    for (const auto& [key, in_evo] : kCounterparts)
      if (const auto place = root_.find(key)) place->fail(fmt::format("a key of Kernel Tuner's: {}", in_evo));
    language();
    kernel();
    shared();
    block();
    defines();
    if (json_.contains("kernel") && !json_.contains("shapes")) one_size();
    form_.text = json_.dump();
    return std::move(form_);
  }

 private:
  void origin(const std::string& made, const std::string& author) {
    form_.places.emplace_back(fmt::format("{}: {}", file_, made), fmt::format("{}: {}", file_, author));
  }

  void language() {
    const auto place = root_.find("lang");
    if (!place) return;
    const std::string name = upper(place->text());
    if (name != "CUDA" && name != "CUPY" && name != "NVCUDA") place->fail(fmt::format("'{}': kernels are CUDA", name));
    json_.erase("lang");
  }

  void kernel() {
    const auto name = root_.find("kernel_name"), source = root_.find("kernel_source");
    if (!name && !source) return;
    if (root_.find("kernel")) (name ? *name : *source).fail("\"kernel\" says it: \"FILE.cu:FUNCTION\"");
    if (!source) name->fail("the file is missing: \"kernel_source\": \"FILE.cu\", or \"kernel\": \"FILE.cu:FUNCTION\"");
    const std::string file = source->text();
    if (!file.ends_with(".cu") && !file.ends_with(".cuh") && !file.ends_with(".h"))
      source->fail("the kernel stands in a file: \"kernel_source\": \"FILE.cu\"");
    json_["kernel"] = name ? fmt::format("{}:{}", file, name->text()) : file;
    origin("kernel", name ? "kernel_name" : "kernel_source");
    json_.erase("kernel_name");
    json_.erase("kernel_source");
  }

  /// {"size": "block_size_x * 4"}
  void shared() {
    const auto place = root_.find("smem_args");
    if (!place) return;
    place->allow_only({"size"});
    if (const auto given = root_.find("shared")) given->fail("\"smem_args\" says it already");
    json_["shared"] = json_["smem_args"]["size"];
    if (place->at("size").expression().text().empty()) place->at("size").fail("bytes are missing");
    origin("shared", "smem_args.size");
    json_.erase("smem_args");
  }

  void block() {
    const auto place = root_.find("block_size_names");
    if (!place) return;
    if (!root_.find("block")) {
      // A name that is no parameter's stands for one thread.
      Json names = Json::array();
      for (const JsonPlace& name : place->one_or_more())
        if (is_parameter(name.text())) names.push_back(name.text());
      json_["block"] = names.empty() ? json_["block_size_names"] : names;
      origin("block", "block_size_names");
    }
    json_.erase("block_size_names");
  }

  /// Also where a file has the parameters.
  bool is_parameter(const std::string& name) const {
    const auto in = [&](const char* key) {
      return json_.contains(key) && (!json_[key].is_object() || json_[key].contains(name));
    };
    return in("tune_params") || in("genes") || in("defines");
  }

  /// Macros with one value.
  void defines() {
    const auto place = root_.find("defines");
    if (!place) return;
    for (const auto& [name, value] : place->members()) {
      json_["genes"][name] = Json::array({to_json<Json>(value.value())});
      origin("genes." + name, "defines." + name);
    }
    json_.erase("defines");
  }

  /// The one size of Kernel Tuner's, as a shape for no other.
  void one_size() {
    const auto problem = json_.find("problem_size");
    std::vector<Json> extents;
    if (problem != json_.end())
      extents = problem->is_array() ? problem->get<std::vector<Json>>() : std::vector<Json>{*problem};
    Json sizes = Json::object();
    std::string condition;
    const auto add = [&](const std::string& name, std::int64_t size) {
      sizes[name] = size;
      condition += fmt::format("{}{} == {}", condition.empty() ? "" : " && ", name, size);
    };
    if (!extents.empty() && std::ranges::all_of(extents, is_whole_number)) {
      for (std::size_t i = 0; i < extents.size(); ++i)
        add(extents.size() == 1 ? "problem_size" : fmt::format("problem_{}", "xyzw"[std::min<std::size_t>(i, 3)]),
            whole_number(extents[i]));
    } else if (extents.empty() && json_.contains("arguments")) {
      add("elements", largest_tensor());
    } else {
      if (!extents.empty())
        root_.at("problem_size").fail(R"(give a number, or a size's name and what it is: "shapes": [{"N": 1024}])");
      return;
    }
    json_["shapes"] = Json::array({sizes});
    if (!json_.contains("requires")) json_["requires"] = condition;
    origin("shapes", extents.empty() ? "arguments" : "problem_size");
    origin("requires", extents.empty() ? "arguments" : "problem_size");
  }

  /// "float[64, 100]" holds 6400. One where no size is a number.
  std::int64_t largest_tensor() const {
    std::int64_t largest = 1;
    for (const Json& argument : json_["arguments"]) {
      if (!argument.is_string()) continue;
      const std::string text = argument.get<std::string>();
      const std::size_t open = text.find('['), close = text.find(']', open);
      if (close == text.npos) continue;
      std::int64_t elements = 1;
      for (const std::string& dim : split(text.substr(open + 1, close - open - 1), ',')) {
        const auto size = number_in<std::int64_t>(trim(dim));
        if (!size || *size < 1 || elements > (std::int64_t{1} << 40) / *size) {
          elements = 1;
          break;
        }
        elements *= *size;
      }
      largest = std::max(largest, elements);
    }
    return largest;
  }

  const std::string& file_;
  JsonPlace root_;
  Json json_;  // the same as root_, and what is made of it
  TunerForm form_;
};

}  // namespace

TunerForm form_of_tuner(const std::string& text, const std::string& file) {
  return TunerTranslator(text, file).translate();
}

}  // namespace evo
