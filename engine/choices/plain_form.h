#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/choices/source_choices.h"
#include "engine/short_form/author_files.h"

namespace evo {

/// A plain kernel, its launch and the sizes at which it runs.
struct PlainKernel {
  std::string file;                ///< "saxpy.cu", beside which the files lie that it includes.
  std::string launch;              ///< As parse_launch_line() reads it; empty: the file says it (kLaunchComment).
  std::vector<std::string> sizes;  ///< "N=4096,M=8" each, the first is timed; empty: the file says them (kSizeComment).
};

/// The ten lines (short_form.h) that tune a plain kernel by the choices found in it. The kernel as it is is the
/// reference.
struct PlainForm {
  std::string file;               ///< "saxpy.json", which is made.
  std::vector<std::string> made;  ///< It, and the sources with the choices, whose lines are the author's.
  ReadFile read;                  ///< Gives them, and the author's files.
  std::vector<Choice> choices;
};

/// The author's file of one that was made of it, which has the same lines: "saxpy.cu" of "saxpy.choices.cu". Others
/// stay as they are.
std::string authors_name(const std::string& file);

/// `read`: the author's files. Throws usage_error: no launch, no sizes, no such kernel, nothing to choose.
PlainForm plain_form(const PlainKernel& kernel, const ReadFile& read);

}  // namespace evo
