#include "io/reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "io/device_stats.h"
#include "io/engines/engine.h"
#include "io/engines/make.h"
#include "io/file.h"
#include "io/options.h"
#include "io/queue/queued_reader.h"
#include "io/queue/window.h"
#include "runtime/cpu/affinity.h"
#include "runtime/size.h"

namespace penstock::io {
namespace {

Status CheckOptions(const IoOptions& options) {
  if (options.bs.bytes < 4 * kKiB || options.bs.bytes > 64 * kMiB ||
      options.bs.bytes % (4 * kKiB) != 0) {
    return Refused(
        fmt::format("--bs is a multiple of 4k from 4k to 64M, got {}", FormatSize(options.bs)));
  }
  if (options.iodepth > 4096) {
    return Refused(fmt::format("--iodepth is 0 to 4096 reads, got {}", options.iodepth));
  }
  return {};
}

}  // namespace

std::vector<DeviceStats> Reader::devices() const { return {}; }

Result<std::unique_ptr<Reader>> MakeReader(const IoOptions& options, FileSet files,
                                           std::span<const Region> regions, const Notice& notice,
                                           std::string tag_name) {
  PENSTOCK_TRY_VOID(CheckOptions(options));
  PENSTOCK_TRY(const Window window, ChooseWindow(options, files));
  auto owned_files = std::make_unique<FileSet>(std::move(files));
  EngineSetup setup;
  setup.files = owned_files.get();
  setup.regions = regions;
  setup.depth = std::max<uint64_t>(window.bytes / options.bs.bytes, 2);
  setup.notice = notice;
  if (!options.cpus_io.empty()) {
    PENSTOCK_TRY(const CpuSet allowed, AllowedCpus());
    PENSTOCK_TRY(setup.cpus, ChooseCpus("--cpus-io", options.cpus_io, allowed));
  }
  PENSTOCK_TRY(std::unique_ptr<Engine> engine, MakeEngine(options, setup, tag_name));
  return QueuedReader::Make(std::move(owned_files), std::move(engine), options.bs.bytes, window,
                            setup.cpus);
}

Result<std::unique_ptr<Reader>> MakeReader(const IoOptions& options,
                                           std::span<const std::string> paths,
                                           std::span<const Region> regions, const Notice& notice,
                                           std::string tag_name) {
  PENSTOCK_TRY(const DirectMode mode, ParseDirectMode(options.direct));
  PENSTOCK_TRY(FileSet files, FileSet::Open(paths, mode, notice));
  return MakeReader(options, std::move(files), regions, notice, std::move(tag_name));
}

}  // namespace penstock::io
