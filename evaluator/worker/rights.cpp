#include "evaluator/worker/rights.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <initializer_list>
#include <system_error>

#include "evaluator/worker/process.h"

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

/// A filter in the kernel's packet language (seccomp(2)): rules for calls by their numbers, one after the other, and an
/// answer for all others.
class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    // Numbers of another architecture mean other calls; ours are not entered in another way.
    add(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    answer(SECCOMP_RET_ERRNO | EPERM);
  }

  void allow(unsigned call) { rule(call, SECCOMP_RET_ALLOW); }
  void refuse(unsigned call, unsigned error = EPERM) { rule(call, SECCOMP_RET_ERRNO | error); }

  /// Allows a call where an argument is one of these, else refuses it.
  void allow_with(unsigned call, unsigned argument, std::initializer_list<unsigned> values, unsigned error = EPERM) {
    begin(call, argument, 2 * values.size() + 1);
    for (const unsigned value : values) {
      add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
      answer(SECCOMP_RET_ALLOW);
    }
    answer(SECCOMP_RET_ERRNO | error);
  }

  /// Refuses a call where any of these bits, or none of them, is set in an argument, else allows it.
  void allow_without(unsigned call, unsigned argument, unsigned bits) { by_bits(call, argument, bits, false); }
  void allow_with_any(unsigned call, unsigned argument, unsigned bits) { by_bits(call, argument, bits, true); }

  void install(unsigned others) {
    answer(others);
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
  }

 private:
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset), 0, 0); }
  void answer(unsigned what) { add(BPF_RET | BPF_K, what, 0, 0); }

  void rule(unsigned call, unsigned what) {
    load(offsetof(seccomp_data, nr));
    add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
    answer(what);
  }

  /// The lower half of an argument (little-endian) of this call for the next `rules` instructions; else behind them.
  void begin(unsigned call, unsigned argument, std::size_t rules) {
    load(offsetof(seccomp_data, nr));
    add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, static_cast<unsigned>(rules) + 1);
    load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
  }

  void by_bits(unsigned call, unsigned argument, unsigned bits, bool wanted) {
    begin(call, argument, 3);
    add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    answer(wanted ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EACCES);
    answer(wanted ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW);
  }

  void add(int code, unsigned value, unsigned if_true, unsigned if_false) {
    code_.push_back({static_cast<unsigned short>(code), static_cast<unsigned char>(if_true),
                     static_cast<unsigned char>(if_false), value});
  }
  std::vector<sock_filter> code_;
};

/// What compilers and the interpreter of kernels need: memory, threads, time, files to read, the sockets they have.
constexpr unsigned kHarmless[] = {
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_close, SYS_close_range, SYS_fstat, SYS_newfstatat,
    SYS_stat, SYS_lstat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_lseek, SYS_access, SYS_faccessat, SYS_faccessat2,
    SYS_readlink, SYS_readlinkat, SYS_getcwd, SYS_chdir, SYS_getdents64, SYS_fadvise64, SYS_dup, SYS_dup2, SYS_dup3,
    SYS_pipe, SYS_pipe2, SYS_fcntl, SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl,
    SYS_epoll_wait, SYS_epoll_pwait, SYS_eventfd2, SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_shutdown,
    SYS_getsockopt, SYS_setsockopt, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_mremap, SYS_madvise, SYS_msync, SYS_mincore,
    SYS_mlock, SYS_munlock, SYS_brk, SYS_get_mempolicy, SYS_futex, SYS_set_robust_list, SYS_get_robust_list,
    SYS_set_tid_address, SYS_rseq, SYS_membarrier, SYS_exit, SYS_exit_group, SYS_rt_sigaction, SYS_rt_sigprocmask,
    SYS_rt_sigreturn, SYS_rt_sigpending, SYS_rt_sigtimedwait, SYS_sigaltstack, SYS_restart_syscall, SYS_clock_gettime,
    SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_time, SYS_times, SYS_getrusage,
    SYS_sysinfo, SYS_uname, SYS_getrlimit, SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid,
    SYS_getegid, SYS_getpriority, SYS_setpriority, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam,
    SYS_sched_getscheduler, SYS_getcpu, SYS_getrandom, SYS_arch_prctl, SYS_wait4,
    // Give up rights.
    SYS_landlock_create_ruleset, SYS_landlock_add_rule, SYS_landlock_restrict_self};

void allow_harmless_calls() {
  Filter filter;
  for (const unsigned call : kHarmless) filter.allow(call);
  constexpr unsigned kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
  filter.allow_without(SYS_open, 1, kWrites);
  filter.allow_without(SYS_openat, 2, kWrites);
  filter.allow_with(SYS_ioctl, 1, {TCGETS, FIONREAD, TIOCGWINSZ}, ENOTTY);
  filter.allow_with(SYS_prlimit64, 0, {0});  // Its own limits.
  filter.allow_with(SYS_tgkill, 0, {static_cast<unsigned>(::getpid())});
  filter.allow_with(SYS_prctl, 0, {PR_SET_NAME, PR_SET_VMA, PR_SET_NO_NEW_PRIVS});
  filter.allow_with_any(SYS_clone, 0, CLONE_THREAD);
  filter.refuse(SYS_clone3, ENOSYS);  // Its flags cannot be seen; libraries then take clone.
  filter.install(SECCOMP_RET_ERRNO | EPERM);
}

/// A GPU's driver needs more than can be listed: what it does not need, and what reaches into other processes, goes.
void refuse_harmful_calls() {
  Filter filter;
  // Unix sockets are how processes of one machine talk, netlink is how the driver asks about devices.
  filter.allow_with(SYS_socket, 0, {AF_UNIX, AF_NETLINK}, EACCES);
  for (const unsigned call : {SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace, SYS_pidfd_getfd,
                              SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_execveat})
    filter.refuse(call);
  filter.install(SECCOMP_RET_ALLOW);
}

void filter_calls(WorkerKind kind) {
  kind == WorkerKind::host_only ? allow_harmless_calls() : refuse_harmful_calls();
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
    // No process of the same user reads its memory, or attaches to it. LeakSanitizer does.
    if (kLimitsMemory) ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  }
  filter_calls(kind);
}

void confine_reading(const std::vector<std::filesystem::path>& folders) {
  constexpr std::uint64_t kReads = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  constexpr std::uint64_t kAll = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // Of the first version.
  const landlock_ruleset_attr handled{.handled_access_fs = kAll};
  const UniqueFd rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0)));
  if (!rules.is_open()) return;  // The kernel has none.
  for (const std::filesystem::path& path : folders) {
    const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!place.is_open()) continue;
    std::error_code error;
    const bool is_folder = std::filesystem::is_directory(path, error);
    const landlock_path_beneath_attr rule{
        .allowed_access = is_folder ? kReads : std::uint64_t{LANDLOCK_ACCESS_FS_READ_FILE}, .parent_fd = place.get()};
    ::syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  }
  ::syscall(SYS_landlock_restrict_self, rules.get(), 0);
}

}  // namespace evo
