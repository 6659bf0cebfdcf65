#pragma once

#include <string>

#include "engine/choices/plain_form.h"
#include "engine/short_form/short_form.h"

namespace evo::cli {

/// Reads FILE.json and the files that it names, whose paths are relative to its folder, and checks the task and the
/// family that it makes; or FILE.cu, a plain kernel that says its launch and sizes. Throws usage_error that names the
/// place in the author's files.
ShortForm load_short_form(const std::string& file);

/// A plain kernel with the choices found in it, as a short form.
struct PlainSubject {
  ShortForm form;
  std::vector<Choice> choices;
};
/// `kernel.file`: a path. Throws as load_short_form() does.
PlainSubject load_plain_kernel(PlainKernel kernel);

/// Whether the compiler finds a header by itself, which is asked where none of an author's files has the name.
bool is_known_header(const std::string& name);

/// Whether a command's subject is a short form: its name ends so.
bool is_short_form(const std::string& subject);

/// Whether it is a kernel's source: it ends with .cu or .cuh.
bool is_cuda_source(const std::string& subject);

}  // namespace evo::cli
