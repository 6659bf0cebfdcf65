#include "cli/run/rejections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/check/closer_look.h"
#include "cli/subject/restore.h"
#include "cli/text/result_text.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"
#include "engine/record/enumerators.h"

namespace evo::cli {
namespace {

constexpr std::size_t kMostCharacters = 220;

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The reason without what tells candidates with the same fault apart. The line behind a file's name stays.
std::string kind_of(std::string_view reason) {
  std::string kind;
  for (std::size_t i = 0; i < reason.size();) {
    const bool of_file = i > 1 && reason[i - 1] == ':' && std::isalpha(static_cast<unsigned char>(reason[i - 2])) != 0;
    if (!is_digit(reason[i])) {
      kind += reason[i++];
    } else if (of_file) {
      while (i < reason.size() && is_digit(reason[i])) kind += reason[i++];
    } else {
      // 12, 1.5, 1.2e-05 and 0x1f are one number each.
      while (i < reason.size() && (std::isalnum(static_cast<unsigned char>(reason[i])) != 0 || reason[i] == '.' ||
                                   (reason[i] == '-' && reason[i - 1] == 'e')))
        ++i;
      kind += '#';
    }
  }
  return kind;
}

/// What a wrong answer breaks tells more than its words.
std::string kind_of(const std::string& reason, const std::optional<Mismatch>& mismatch) {
  if (!mismatch) return kind_of(reason);
  return fmt::format("{} {} {}", mismatch->output, enumerator_name(mismatch->miss.kind),
                     enumerator_name(mismatch->found));
}

/// One line that a terminal shows whole, or nearly.
std::string shortened(const std::string& reason) {
  std::string line = one_line(reason);
  constexpr std::string_view kError = ": error: ";
  if (const std::size_t at = line.find(kError); at != std::string::npos) line.replace(at, kError.size(), ": ");
  return clipped(line, kMostCharacters, "...");
}

}  // namespace

void RejectionCounts::add(Verdict verdict, const std::string& reason, const std::optional<Mismatch>& mismatch,
                          const std::string& family, CandidateId candidate) {
  if (verdict == Verdict::valid || verdict == Verdict::duplicate) return;
  const auto [found, fresh] = places_.try_emplace({verdict, kind_of(reason, mismatch)}, rejections_.size());
  if (fresh) rejections_.push_back({verdict, reason_text(reason, mismatch), family, 0, candidate});
  ++rejections_[found->second].candidates;
  std::erase(recent_, found->second);
  recent_.push_back(found->second);
}

std::vector<Rejection> RejectionCounts::last(std::size_t most) const {
  std::vector<Rejection> last;
  for (auto place = recent_.rbegin(); place != recent_.rend() && last.size() < most; ++place)
    last.push_back(rejections_[*place]);
  return last;
}

std::vector<Rejection> rejections_of(const std::vector<OutcomeRow>& outcomes) {
  RejectionCounts counts;
  for (const OutcomeRow& one : outcomes)
    counts.add(one.verdict, one.reason, one.mismatch, one.genome.family, one.candidate);
  return counts.all();
}

void explain_first(std::vector<Rejection>& rejections, std::size_t most, const Store& store) {
  const auto end = rejections.begin() + static_cast<std::ptrdiff_t>(std::min(most, rejections.size()));
  const auto first =
      std::find_if(rejections.begin(), end, [](const Rejection& one) { return deserves_closer_look(one.verdict); });
  if (first == end) return;
  first->findings = closer_look(restore(store, first->first));
  // What the verdict says already need not be said twice: "bad_access: kernel scale, ..." without its kind.
  std::erase_if(first->findings, [&](const std::string& finding) {
    const std::size_t kind = finding.find(": ");
    return first->reason.find(finding.substr(kind == std::string::npos ? 0 : kind + 2)) != std::string::npos;
  });
}

std::string rejection_text(const Rejection& rejection) {
  std::string text =
      fmt::format("  {} {}: {}\n", rejection.candidates, name_of(rejection.verdict), shortened(rejection.reason));
  for (const std::string& finding : rejection.findings) text += fmt::format("    {}\n", one_line(finding));
  return text;
}

nlohmann::ordered_json rejections_json(const std::vector<Rejection>& rejections) {
  auto list = nlohmann::ordered_json::array();
  for (const Rejection& rejection : rejections)
    list.push_back({{"verdict", name_of(rejection.verdict)},
                    {"reason", rejection.reason},
                    {"candidates", rejection.candidates},
                    {"first", rejection.first},
                    {"findings", rejection.findings}});
  return list;
}

}  // namespace evo::cli
