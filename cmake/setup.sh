# Sourced by ./evo and ./test: installs what the build needs (Debian, Ubuntu), configures and builds.
# Everything it prints goes to stderr, so that the output of `evo` stays its own.

evo_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
evo_build=$evo_root/build/release

evo_say() { echo "evo: $*" >&2; }
evo_fail() { evo_say "$*"; exit 3; }

# Runs a command with its output in a log; shows the log only when the command fails.
evo_quietly() {
  local what=$1 log; shift
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    rm -f "$log"
    evo_fail "$what failed (see above)"
  fi
  rm -f "$log"
}

evo_as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else
    evo_fail "installing packages needs root: run as root once: $*"
  fi
}

evo_packages=(g++ cmake ninja-build libspdlog-dev libfmt-dev nlohmann-json3-dev libsqlite3-dev libsqlitecpp-dev
              libcli11-dev libxxhash-dev zlib1g-dev libcurl4-openssl-dev libdtl-dev)

evo_missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

# The mirror of Debian that this machine's own sources of packages name, in either of apt's formats.
evo_debian_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Release: $1" | head -n 1
}

# Debian 12 has Catch2 2 only; version 3 comes from its backports. Where there is neither, CMake fetches it.
evo_install_catch2() {
  dpkg-query -W -f='${Version}' catch2 2>/dev/null | grep -q '^3' && return
  local candidate mirror suite=()
  candidate=$(apt-cache policy catch2 | sed -n 's/ *Candidate: //p')
  if [[ $candidate != 3* ]]; then
    . /etc/os-release
    if ! apt-cache madison catch2 | grep -q "${VERSION_CODENAME}-backports"; then
      evo_quietly "apt-get update" evo_as_root apt-get update
      mirror=$(evo_debian_mirror "$VERSION_CODENAME")
      [ -n "$mirror" ] || return 0
      echo "deb $mirror ${VERSION_CODENAME}-backports main" |
        evo_as_root tee "/etc/apt/sources.list.d/${VERSION_CODENAME}-backports.list" >/dev/null
      evo_quietly "apt-get update" evo_as_root apt-get update
    fi
    suite=(-t "${VERSION_CODENAME}-backports")
  fi
  evo_say "installing Catch2 3"
  evo_quietly "installing catch2" evo_as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${suite[@]}" catch2 libcatch2-dev
}

# The version that the sources are formatted with. Releases that do not have it skip the test of the format.
evo_install_formatter() {
  clang-format-14 --version >/dev/null 2>&1 && return
  [ -n "$(apt-cache search --names-only '^clang-format-14$')" ] || return 0
  evo_say "installing clang-format-14"
  evo_quietly "installing clang-format-14" evo_as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends clang-format-14
}

# The browser that the report's page is tested in. Without it those tests skip and say so.
evo_install_browser() {
  local missing
  mapfile -t missing < <(evo_missing_packages chromium chromium-driver python3-selenium)
  [ ${#missing[@]} -eq 0 ] && return
  evo_say "installing ${missing[*]}"
  (evo_quietly "apt-get update" evo_as_root apt-get update
   evo_quietly "installing a browser" evo_as_root env DEBIAN_FRONTEND=noninteractive \
     apt-get install -y --no-install-recommends "${missing[@]}") || evo_say "no browser: the tests of the report's page skip"
}

# What the tests of the Python package use. Without one of them its tests skip.
evo_install_python() {
  local missing
  mapfile -t missing < <(evo_missing_packages python3-venv python3-pip python3-numpy jupyter-nbconvert python3-ipykernel)
  [ ${#missing[@]} -eq 0 ] && return
  evo_say "installing ${missing[*]}"
  (evo_quietly "apt-get update" evo_as_root apt-get update
   evo_quietly "installing Python's packages" evo_as_root env DEBIAN_FRONTEND=noninteractive \
     apt-get install -y --no-install-recommends "${missing[@]}") || evo_say "tests of the Python package skip"
}

# The shells that complete evo's commands, the formatter of manual pages, and what a Debian package is made with. Without
# one of them its tests skip and say so.
evo_install_shells() {
  local missing
  mapfile -t missing < <(evo_missing_packages zsh fish groff dpkg-dev file)
  [ ${#missing[@]} -eq 0 ] && return
  evo_say "installing ${missing[*]}"
  (evo_quietly "apt-get update" evo_as_root apt-get update
   evo_quietly "installing shells" evo_as_root env DEBIAN_FRONTEND=noninteractive \
     apt-get install -y --no-install-recommends "${missing[@]}") || evo_say "no shells: the tests of completion skip"
}

# evo_prepare [tests [all]]: the packages; other systems use what CMake finds and fetch the rest.
evo_prepare() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || return 0
  local missing
  mapfile -t missing < <(evo_missing_packages "${evo_packages[@]}")
  if [ ${#missing[@]} -gt 0 ]; then
    evo_say "installing ${missing[*]}"
    evo_quietly "apt-get update" evo_as_root apt-get update
    evo_quietly "installing packages" evo_as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends "${missing[@]}"
  fi
  if [ "${1:-}" = tests ]; then
    evo_install_catch2
    evo_install_formatter
    if [ "${2:-}" = all ]; then
      evo_install_browser
      evo_install_python
      evo_install_shells
    fi
  fi
}

evo_check_toolkit() {
  local folder
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr; do
    [ -n "$folder" ] && [ -e "$folder/include/nvrtc.h" ] && return
  done
  evo_fail "CUDA Toolkit headers not found (looked for include/nvrtc.h in \$CUDA_HOME and /usr/local/cuda):" \
           "install the CUDA Toolkit 12.8 or newer (developer.nvidia.com/cuda-downloads) or set CUDA_HOME"
}

# evo_build_targets TESTS TARGET...: configures when needed (TESTS is ON or OFF) and builds.
evo_build_targets() {
  local tests=$1; shift
  if ! grep -qs "EVO_TESTS:BOOL=ON" "$evo_build/CMakeCache.txt"; then
    if [ "$tests" = ON ] || [ ! -e "$evo_build/build.ninja" ]; then
      evo_quietly "configuring" cmake -S "$evo_root" --preset release "-DEVO_TESTS=$tests"
    fi
  fi
  local log plan
  log=$(mktemp)
  plan=$(mktemp)
  local -x NINJA_STATUS="[%f/%t %e] "
  cmake --build "$evo_build" --target "$@" -- -n >"$plan" 2>&1 || true  # What fails here fails below, too.
  if ! cmake --build "$evo_build" --target "$@" 2>&1 | tee "$log" | "$evo_root/cmake/progress.sh" "$plan"; then
    tail -n 40 "$log" >&2
    rm -f "$log" "$plan"
    evo_fail "the build failed (see above)"
  fi
  rm -f "$log" "$plan"
}
