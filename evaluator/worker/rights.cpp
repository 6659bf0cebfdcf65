#include "evaluator/worker/rights.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <vector>

namespace evo {
namespace {

constexpr std::uint64_t kLeastHostBytes = std::uint64_t{4} << 30;
constexpr rlim_t kHostOnlyFiles = 256;

/// Sanitizers reserve terabytes of address space for their shadow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

void limit(__rlimit_resource resource, rlim_t value) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  const rlim_t least = std::min(value, now.rlim_max);
  const rlimit wanted{least, least};
  ::setrlimit(resource, &wanted);
}

#ifdef __x86_64__

/// A filter in the kernel's packet language (seccomp(2)): each rule looks at the number of the call, which is loaded
/// first.
class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    // Numbers of another architecture mean other calls; ours are not entered in another way.
    add(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
  }

  void refuse(unsigned call) {
    load(offsetof(seccomp_data, nr));
    add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
  }

  /// Refuses a call unless its first argument is one of two.
  void refuse_unless(unsigned call, unsigned first, unsigned second) {
    load(offsetof(seccomp_data, nr));
    add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
    load(offsetof(seccomp_data, args));  // Little-endian: the lower half.
    add(BPF_JMP | BPF_JEQ | BPF_K, first, 2, 0);
    add(BPF_JMP | BPF_JEQ | BPF_K, second, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES, 0, 0);
  }

  void install() {
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
  }

 private:
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset), 0, 0); }
  void add(int code, unsigned value, int if_true, int if_false) {
    code_.push_back({static_cast<unsigned short>(code), static_cast<unsigned char>(if_true),
                     static_cast<unsigned char>(if_false), value});
  }
  std::vector<sock_filter> code_;
};

void filter_calls(WorkerKind kind) {
  Filter filter;
  // Unix sockets are how processes of one machine talk, netlink is how the driver asks about devices.
  filter.refuse_unless(SYS_socket, AF_UNIX, AF_NETLINK);
  filter.refuse(SYS_process_vm_readv);
  filter.refuse(SYS_process_vm_writev);
  if (kind == WorkerKind::host_only) {
    filter.refuse(SYS_execve);
    filter.refuse(SYS_execveat);
  }
  filter.install();
}

#else
void filter_calls(WorkerKind) {}
#endif

}  // namespace

std::uint64_t host_worker_memory_bytes() {
  struct sysinfo machine {};
  if (::sysinfo(&machine) != 0) return kLeastHostBytes;
  return std::max<std::uint64_t>(kLeastHostBytes, std::uint64_t{machine.totalram} * machine.mem_unit / 2);
}

void reduce_rights(WorkerKind kind) {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // Without it only root may install a filter.
  if (kind == WorkerKind::host_only) {
    ::signal(SIGXFSZ, SIG_IGN);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, kHostOnlyFiles);
    if (kLimitsMemory) limit(RLIMIT_AS, host_worker_memory_bytes());
  }
  filter_calls(kind);
}

}  // namespace evo
