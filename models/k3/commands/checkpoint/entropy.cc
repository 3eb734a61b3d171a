#include "models/k3/commands/checkpoint/entropy.h"

#include <optional>
#include <utility>

#include "runtime/options/options.h"
#include "runtime/output/file_out.h"
#include "runtime/process/stop_request.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

Result<EntropyCensus> Take(Console& console, const std::string& directory, EntropyRequest& request,
                           const io::IoOptions& io, const StopRequest& stop) {
  bool started = false;
  request.progress = [&](uint64_t done, uint64_t total) {
    if (!std::exchange(started, true)) console.StartProgress("MiB", total / kMiB);
    console.Advance(done / kMiB, "");
    return !stop.requested();
  };
  auto census = TakeEntropyCensus(directory, request, io, console.notice());
  console.EndProgress();
  return census;
}

Status WriteResults(Console& console, const EntropyCensus& census, const EntropyOutput& output,
                    std::optional<RecordFile>& page) {
  if (page) {
    PENSTOCK_TRY_VOID(page->Append(EntropyPage(census)));
    PENSTOCK_TRY_VOID(page->Finish());
  }
  if (!output.json) return console.Write(EntropyTable(census));
  return console.Write(EntropyJson(census).dump(2, ' ', false, Json::error_handler_t::replace) +
                       "\n");
}

// The page's file is opened first: nobody reads for an hour to learn that it exists.
Status TakeAndWrite(Console& console, const std::string& directory, EntropyRequest& request,
                    const EntropyOutput& output, const io::IoOptions& io, const StopRequest& stop) {
  std::optional<RecordFile> page;
  if (!output.html.empty()) {
    PENSTOCK_TRY(page, RecordFile::Create(output.html, false));
  }
  const auto census = Take(console, directory, request, io, stop);
  if (!census) {
    if (page) static_cast<void>(page->Finish());  // Takes the empty file away.
    return census.error();
  }
  return WriteResults(console, *census, output, page);
}

}  // namespace

int RunEntropy(Console& console, const std::string& directory, EntropyRequest request,
               const EntropyOutput& output, const io::IoOptions& io) {
  StopRequest stop;
  if (const Status listens = stop.Listen(); !listens) return console.Fail(listens.error());
  const Status done = TakeAndWrite(console, directory, request, output, io, stop);
  if (done) return 0;
  return stop.ExitCode(console.Fail(done.error()));
}

}  // namespace penstock::k3
