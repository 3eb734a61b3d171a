# Sourced by the checks of this folder: what counts as source, relative to the current directory.
# Fixed folders, not git: an unpacked archive has no history.
sources() {
  { find runtime io ops graph models tests bench -type f \( -name '*.h' -o -name '*.cc' \) \
    2>/dev/null || true; } | LC_ALL=C sort
}
