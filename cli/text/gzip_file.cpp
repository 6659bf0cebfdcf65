#include "cli/text/gzip_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/base/error.h"

namespace evo::cli {

GzipFile read_gzip_file(const std::filesystem::path& path) {
  // gzread takes plain files as they are.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw machine_error(fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)));
  GzipFile result;
  std::vector<char> block(1 << 20);
  int got = 0;
  while ((got = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()))) > 0)
    result.text.append(block.data(), static_cast<std::size_t>(got));
  int code = Z_OK;
  const char* reason = gzerror(file.get(), &code);
  result.whole = got >= 0 && (code == Z_OK || code == Z_STREAM_END);
  if (!result.whole) result.reason = code == Z_ERRNO ? std::strerror(errno) : reason;
  return result;
}

}  // namespace evo::cli
