#include "tests/vgpu/conformance/ptx_forms.h"

#include <fmt/core.h>

#include <cctype>
#include <fstream>
#include <functional>
#include <optional>
#include <regex>
#include <stdexcept>

namespace evo::conformance {
namespace {

/// One <alternatives> of a line.
struct Group {
  std::size_t begin = 0, end = 0;  ///< With the brackets.
  char number = 0;                 ///< Of those that change together; 0: alone.
  std::vector<std::string> alternatives;
};

std::vector<std::string> alternatives_of(std::string_view text) {
  if (text.starts_with("||")) return {"", std::string(text.substr(1))};  // A second predicate, or none.
  std::vector<std::string> parts{""};
  for (const char c : text) c == '|' ? (void)parts.emplace_back() : parts.back().push_back(c);
  return parts;
}

std::optional<Group> next_group(const std::string& line, std::size_t from, char number) {
  while (true) {
    const std::size_t begin = line.find('<', from);
    if (begin == std::string::npos) return std::nullopt;
    const std::size_t end = line.find('>', begin);
    std::string_view inside = std::string_view(line).substr(begin + 1, end - begin - 1);
    Group group{begin, end + 1, 0, {}};
    if (inside.size() > 1 && std::isdigit(static_cast<unsigned char>(inside[0])) != 0 && inside[1] == ':') {
      group.number = inside[0];
      inside.remove_prefix(2);
    }
    group.alternatives = alternatives_of(inside);
    if (number == 0 || group.number == number) return group;
    from = group.end;
  }
}

void expand(const std::string& line, const std::function<void(const std::string&)>& each) {
  const auto first = next_group(line, 0, 0);
  if (!first) return each(line);
  for (std::size_t i = 0; i < first->alternatives.size(); ++i) {
    std::string chosen = line;
    for (auto group = first; group; group = next_group(chosen, group->begin, first->number)) {
      chosen.replace(group->begin, group->end - group->begin, group->alternatives.at(i));
      if (first->number == 0) break;
    }
    expand(chosen, each);
  }
}

/// r4-r6 is r4, r5, r6.
std::string with_ranges(const std::string& text) {
  static const std::regex kRange("\\b([a-z])(\\d+)-\\1(\\d+)\\b");
  std::string result;
  auto last = text.cbegin();
  for (std::sregex_iterator match(text.begin(), text.end(), kRange), end; match != end; ++match) {
    result.append(last, (*match)[0].first);
    for (int i = std::stoi((*match)[2]); i <= std::stoi((*match)[3]); ++i)
      result += (*match)[1].str() + std::to_string(i) + (i < std::stoi((*match)[3]) ? ", " : "");
    last = (*match)[0].second;
  }
  return result.append(last, text.cend());
}

}  // namespace

std::vector<PtxForm> ptx_forms(const std::string& name) {
  std::ifstream file(EVO_TEST_DATA "/" + name);
  if (!file) throw std::runtime_error("tests/data/" + name + " is missing");
  std::vector<PtxForm> forms;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::string arch = "sm_80";
    if (const std::size_t at = line.rfind(" @sm_"); at != std::string::npos) {
      arch = line.substr(at + 2);
      line.resize(at);
    }
    expand(line, [&](const std::string& text) { forms.push_back({with_ranges(text), arch, number}); });
  }
  return forms;
}

std::string module_of(const std::vector<PtxForm>& forms, std::string_view arch) {
  std::string ptx = fmt::format(R"(.version 9.0
.target {}
.address_size 64
.const .align 16 .b8 const_array[64];
.global .align 16 .b8 global_array[256];
.func function (.param .b32 a) {{ ret; }}
.func (.param .b32 b) answering (.param .b32 a) {{ .reg .b32 t; ld.param.b32 t, [a]; st.param.b32 [b], t; ret; }}
)",
                                arch);
  for (std::size_t i = 0; i < forms.size(); ++i) {
    ptx += fmt::format(R"(.visible .entry k{}(.param .b64 argument)
{{
  .reg .b8 c<4>; .reg .b16 h<8>; .reg .b32 r<64>, sm, bar; .reg .b64 d<32>, ga, ge, map, pol, gebar; .reg .b128 x<4>;
  .reg .f32 f<8>; .reg .f64 g<32>; .reg .pred p, q, s;
  .shared .align 128 .b8 shared_array[1024]; .local .align 16 .b8 local_array[64];
  {}
  ret;
}}
)",
                       i, forms[i].text);
  }
  return ptx;
}

}  // namespace evo::conformance
