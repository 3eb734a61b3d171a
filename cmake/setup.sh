# Sourced by ./demo, ./check and .ci/run, from the root of the tree: what a fresh machine lacks.

say() { printf '%s\n' "$*" >&2; }

# The packages of the given roles (see cmake/packages.txt) that are not installed.
missing_packages() {
  local role package
  while read -r role package; do
    case " $* " in
      *" $role "*) ;;
      *) continue ;;
    esac
    [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = 'install ok installed' ] ||
      printf '%s\n' "$package"
  done < <(grep -v '^#' cmake/packages.txt)
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"  # Nobody is there to type a password.
  fi
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null >&2
}

# need_packages ROLE...: installs what is missing; says what to do and fails when that is impossible.
need_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "This is not a Debian machine: going on with what is installed. cmake/packages.txt says what is needed."
    return 0
  fi
  local missing
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [ -n "$missing" ] || return 0
  say "Installing: $missing"
  # shellcheck disable=SC2086  # One word is one package.
  if { [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null; } && apt update &&
    apt install -y --no-install-recommends $missing; then
    return 0
  fi
  say "Could not install what is missing. As root, on a machine with a package source, run:"
  say "  apt-get update && apt-get install --no-install-recommends $missing"
  return 1
}

# configure PRESET: ccache is used where there is one.
configure() {
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  cmake --preset "$1" >&2
}

# build PRESET TARGET
build() {
  cmake --build --preset "$1" --target "$2" --parallel "$(nproc)" >&2
}
