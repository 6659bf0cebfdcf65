#pragma once

#include <string>
#include <vector>

namespace evo {

/// The exit code of a near end that has lost the other host, which says nothing of what the worker was doing. The last
/// line on its standard error says why.
inline constexpr int kLinkLost = 75;

/// A worker process on another host, or here, behind a command that passes standard input and output on.
///
/// Two processes stand between a WorkerClient and such a worker. The near end is what the client starts, and looks to
/// it like the worker: it ends as the worker ends, by the same signal or with the same code. The far end runs on the
/// other host as `PREFIX EVO ...`. It starts the worker there, as the client would have done here, and speaks with the
/// near end over its standard input and output:
///
/// - Bytes travel in frames. Each has a checksum that depends on the session, the direction and the number of the
///   frame. One that is changed, lost, repeated or of an earlier session ends the link.
/// - Both ends send a sign of life at least four times a lease. An end that hears nothing for a lease takes the other
/// for gone.
///   The far end then kills its worker. So it does when its standard input ends, which is when the near end is gone.
/// - The first frame from afar names the hash of the program there, which must be that of the near end.
struct RemoteCommand {
  std::string prefix;  ///< A command of the shell, as "ssh node7"; empty: none.
  std::string evo;     ///< The program there.
  double lease_s = 20;
};

/// The arguments with which this program is the near end of a link. `worker`: the worker's own, its first word
/// included.
std::vector<std::string> near_end_arguments(const RemoteCommand& remote, const std::vector<std::string>& worker);

/// The hidden commands behind both ends. `arguments`: those after the first word.
bool is_link_end(const std::vector<std::string>& arguments);
int serve_link_end(const std::vector<std::string>& arguments);

/// The xxh3-128 of this program's file, 32 hex digits.
std::string hash_of_this_program();

}  // namespace evo
