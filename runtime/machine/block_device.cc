#include "runtime/machine/block_device.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "runtime/machine/proc_text.h"
#include "runtime/small_file.h"

namespace penstock {
namespace {

constexpr uint64_t kSectorBytes = 512;  // The unit of these counters, whatever the device's own.

std::string DeviceFolder(dev_t device) {
  return fmt::format("/sys/dev/block/{}:{}", gnu_dev_major(device), gnu_dev_minor(device));
}

// btrfs gives its files a device number of its own; the mount table names the real one.
std::string FolderFromMountTable(dev_t device) {
  auto mountinfo = ReadSmallFile("/proc/self/mountinfo");
  if (!mountinfo) return "";
  const std::string wanted = fmt::format("{}:{}", gnu_dev_major(device), gnu_dev_minor(device));
  std::istringstream lines(*mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skip, number, type, source;
    words >> skip >> skip >> number;
    if (number != wanted) continue;
    while (words >> skip && skip != "-") {
    }
    words >> type >> source;
    struct stat info;
    if (::stat(source.c_str(), &info) == 0 && S_ISBLK(info.st_mode)) {
      return DeviceFolder(info.st_rdev);
    }
  }
  return "";
}

std::string ReadTrimmed(const std::string& path) {
  auto text = ReadSmallFile(path);
  return text ? Trim(*text) : "";
}

// "none [mq-deadline] kyber" means mq-deadline.
std::string ActiveScheduler(const std::string& disk_folder) {
  const std::string line = ReadTrimmed(disk_folder + "/queue/scheduler");
  const size_t open = line.find('[');
  const size_t close = line.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return line;
  return line.substr(open + 1, close - open - 1);
}

}  // namespace

Result<BlockDevice> FindBlockDevice(const std::string& path) {
  namespace fs = std::filesystem;
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    const int sys = errno;
    return Failed(fmt::format("cannot find the device of {}: {}", path, std::strerror(sys)), sys);
  }
  std::string folder = DeviceFolder(info.st_dev);
  std::error_code failure;
  if (!fs::exists(folder, failure)) folder = FolderFromMountTable(info.st_dev);
  const fs::path real = folder.empty() ? fs::path() : fs::canonical(folder, failure);
  if (real.empty() || failure) {
    return Failed(fmt::format("{} lies on a file system without a single block device", path));
  }
  const fs::path disk = fs::exists(real / "partition", failure) ? real.parent_path() : real;
  return BlockDevice{.name = real.filename().string(),
                     .disk = disk.filename().string(),
                     .model = ReadTrimmed((disk / "device" / "model").string()),
                     .scheduler = ActiveScheduler(disk.string()),
                     .stat_file = folder + "/stat"};
}

Result<uint64_t> ReadDeviceBytes(const BlockDevice& device) {
  PENSTOCK_TRY(const std::string text, ReadSmallFile(device.stat_file));
  std::istringstream fields(text);
  uint64_t reads = 0, merged = 0, sectors = 0;
  if (!(fields >> reads >> merged >> sectors)) {
    return Failed(fmt::format("{} does not hold a device's counters", device.stat_file));
  }
  return sectors * kSectorBytes;
}

}  // namespace penstock
