#include "cli/text/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/base/error.h"

namespace evo::cli {
namespace {

// A few megabytes may unpack into more than any machine's memory; a sweep of 100,000 genomes has 60 MB.
constexpr std::size_t kMostTextBytes = std::size_t{128} << 20;

}  // namespace

std::string gzipped(std::string_view text) {
  constexpr int kGzip = 16;  // Added to the window's bits: a gzip header instead of zlib's.
  constexpr int kMemoryLevel = 9;
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw machine_error("cannot compress: out of memory");
  }
  std::string packed;
  char block[1 << 16];
  // zlib counts in 32 bits; larger texts go in pieces.
  constexpr std::size_t kPiece = 1u << 30;
  int state = Z_OK;
  do {
    const std::string_view piece = text.substr(0, kPiece);
    text.remove_prefix(piece.size());
    // The interface takes no pointer to constant bytes; they are only read.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream.avail_in = static_cast<uInt>(piece.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block);
      stream.avail_out = sizeof block;
      state = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
      packed.append(block, sizeof block - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (!text.empty());
  deflateEnd(&stream);
  if (state != Z_STREAM_END) throw machine_error("cannot compress: zlib failed");
  return packed;
}

GzipFile read_gzip_file(const std::filesystem::path& path) {
  // gzread takes plain files as they are.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw machine_error(fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)));
  GzipFile result;
  std::vector<char> block(1 << 20);
  int got = 0;
  while ((got = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()))) > 0) {
    result.text.append(block.data(), static_cast<std::size_t>(got));
    if (result.text.size() > kMostTextBytes)
      throw usage_error(fmt::format("{} has more than {} bytes when decompressed", path.string(), kMostTextBytes));
  }
  int code = Z_OK;
  const char* reason = gzerror(file.get(), &code);
  result.whole = got >= 0 && (code == Z_OK || code == Z_STREAM_END);
  if (!result.whole) result.reason = code == Z_ERRNO ? std::strerror(errno) : reason;
  return result;
}

}  // namespace evo::cli
