#include "io/sealed/sealed_file.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/pack/sum/sum.h"
#include "runtime/check.h"

namespace penstock::io {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kHeadBytes = 32;
constexpr size_t kSummedHead = 24;

std::string PartialName(const std::string& path) { return path + ".partial"; }

uint64_t ChunksOf(uint64_t payload) {
  return payload / kSealedChunk + (payload % kSealedChunk != 0);
}

uint64_t HeadSum(std::span<const std::byte> head, std::string_view facts) {
  RunningSum sum;
  sum.Add(head.first(kSummedHead));
  sum.Add(std::as_bytes(std::span(facts)));
  return sum.value();
}

uint64_t SumOfSums(const std::vector<uint64_t>& sums) {
  return SumOf(std::as_bytes(std::span(sums)));
}

template <class T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// For one writer at a time.
Result<OutputFile> OpenPartial(const std::string& path) {
  auto file = OutputFile::OpenHeld(PartialName(path));
  if (file || file.error().sys != EWOULDBLOCK) return file;
  return Failed(fmt::format("{}: another run writes it: {}", path, file.error().message),
                EWOULDBLOCK);
}

// A name in a directory is safe when the directory is.
Status SyncDirectoryOf(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return Failed(fmt::format("{}: cannot be opened: {}", directory, std::strerror(errno)), errno);
  const int failed = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  // Some file systems have no such thing for directories.
  if (failed == 0 || failed == EINVAL) return {};
  return Failed(
      fmt::format("{}: cannot be brought to the device: {}", directory, std::strerror(failed)),
      failed);
}

}  // namespace

SealedWriter::SealedWriter(std::string path, OutputFile file, uint64_t payload_bytes, uint64_t at)
    : path_(std::move(path)), file_(std::move(file)), left_(payload_bytes), at_(at) {
  chunk_.reserve(std::min<uint64_t>(payload_bytes, kSealedChunk));
}

SealedWriter::SealedWriter(SealedWriter&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      left_(other.left_),
      at_(other.at_),
      chunk_(std::move(other.chunk_)),
      sums_(std::move(other.sums_)),
      partial_(std::exchange(other.partial_, false)) {}

SealedWriter::~SealedWriter() {
  if (partial_) ::unlink(PartialName(path_).c_str());
}

Result<SealedWriter> SealedWriter::Create(const std::string& path, const SealedKind& kind,
                                          std::string_view facts, uint64_t payload_bytes) {
  PENSTOCK_CHECK(facts.size() <= kMostFacts);
  PENSTOCK_TRY(OutputFile file, OpenPartial(path));
  SealedWriter writer(path, std::move(file), payload_bytes, kHeadBytes + facts.size());
  PENSTOCK_TRY_VOID(writer.file_.Truncate(0));  // What a killed run has left.
  std::array<std::byte, kHeadBytes> head{};
  const uint64_t sizes[2] = {facts.size(), payload_bytes};
  std::memcpy(head.data(), kind.data(), kind.size());
  std::memcpy(head.data() + kind.size(), sizes, sizeof(sizes));
  const uint64_t sum = HeadSum(head, facts);
  std::memcpy(head.data() + kSummedHead, &sum, sizeof(sum));
  PENSTOCK_TRY_VOID(writer.file_.WriteAt(0, head));
  PENSTOCK_TRY_VOID(writer.file_.WriteAt(kHeadBytes, facts));
  return writer;
}

Status SealedWriter::Append(std::span<const std::byte> bytes) {
  PENSTOCK_CHECK(bytes.size() <= left_);
  left_ -= bytes.size();
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), kSealedChunk - chunk_.size());
    chunk_.insert(chunk_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(taken));
    bytes = bytes.subspan(taken);
    if (chunk_.size() == kSealedChunk) PENSTOCK_TRY_VOID(WriteChunk());
  }
  return {};
}

Status SealedWriter::WriteChunk() {
  PENSTOCK_TRY_VOID(file_.WriteAt(at_, chunk_));
  sums_.push_back(SumOf(chunk_));
  at_ += chunk_.size();
  chunk_.clear();
  return {};
}

Result<uint64_t> SealedWriter::Seal() {
  PENSTOCK_CHECK(left_ == 0);
  if (!chunk_.empty()) PENSTOCK_TRY_VOID(WriteChunk());
  const uint64_t sum = SumOfSums(sums_);
  PENSTOCK_TRY_VOID(file_.WriteAt(at_, std::as_bytes(std::span(sums_))));
  const uint64_t end = at_ + sums_.size() * sizeof(uint64_t);
  PENSTOCK_TRY_VOID(file_.WriteAt(end, BytesOf(sum)));
  PENSTOCK_TRY_VOID(file_.Sync());
  PENSTOCK_TRY_VOID(RenameFile(PartialName(path_), path_));
  partial_ = false;
  PENSTOCK_TRY_VOID(SyncDirectoryOf(path_));
  return end + sizeof(sum);
}

SealedReader::SealedReader(SealedReader&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      facts_(std::move(other.facts_)),
      payload_bytes_(other.payload_bytes_),
      payload_at_(other.payload_at_),
      sums_(std::move(other.sums_)),
      chunk_(std::move(other.chunk_)),
      chunk_used_(other.chunk_used_),
      chunks_read_(other.chunks_read_) {}

SealedReader::~SealedReader() {
  if (fd_ >= 0) ::close(fd_);
}

Result<SealedReader> SealedReader::Open(const std::string& path, const SealedKind& kind) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Refused(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  SealedReader reader(path, fd);
  PENSTOCK_TRY_VOID(reader.ReadHead(kind));
  PENSTOCK_TRY_VOID(reader.ReadSums());
  return reader;
}

Status SealedReader::ReadAt(uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Failed(fmt::format("{}: reading {} bytes at {} failed: {}", path_, into.size(), offset,
                                std::strerror(errno)),
                    errno);
    }
    if (got == 0) {
      return Refused(
          fmt::format("{}: ends at {}, expected {} bytes more", path_, offset, into.size()));
    }
    into = into.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return {};
}

Status SealedReader::ReadHead(const SealedKind& kind) {
  struct stat found = {};
  if (::fstat(fd_, &found) != 0 || !S_ISREG(found.st_mode)) {
    return Refused(fmt::format("{}: expected a regular file", path_));
  }
  const auto size = static_cast<uint64_t>(found.st_size);
  if (size < kHeadBytes) {
    return Refused(fmt::format("{}: has {} bytes, expected at least {}", path_, size, kHeadBytes));
  }
  std::array<std::byte, kHeadBytes> head;
  PENSTOCK_TRY_VOID(ReadAt(0, head));
  if (std::memcmp(head.data(), kind.data(), kind.size()) != 0) {
    return Refused(fmt::format("{}: expected a file that begins with {}", path_,
                               std::string_view(kind.data(), kind.size())));
  }
  uint64_t numbers[3];  // Bytes of facts and payload, sum.
  std::memcpy(numbers, head.data() + kind.size(), sizeof(numbers));
  const auto [facts, payload, sum] = numbers;
  // No sum of these can overflow.
  const bool sane = facts <= kMostFacts && facts <= size && payload <= size;
  const uint64_t expected = sane ? kHeadBytes + facts + payload + (ChunksOf(payload) + 1) * 8 : 0;
  if (size != expected) {
    return Refused(
        fmt::format("{}: has {} bytes, expected {} of facts, {} of payload and their sums: "
                    "it is cut off, or its head has changed",
                    path_, size, facts, payload));
  }
  facts_.resize(facts);
  PENSTOCK_TRY_VOID(ReadAt(kHeadBytes, std::as_writable_bytes(std::span(facts_))));
  if (const uint64_t is = HeadSum(head, facts_); is != sum) {
    return Refused(
        fmt::format("{}: the sum of its head is {:016x}, expected {:016x}", path_, is, sum));
  }
  payload_bytes_ = payload;
  payload_at_ = kHeadBytes + facts;
  return {};
}

Status SealedReader::ReadSums() {
  sums_.resize(ChunksOf(payload_bytes_));
  const uint64_t at = payload_at_ + payload_bytes_;
  uint64_t sum = 0;
  PENSTOCK_TRY_VOID(ReadAt(at, std::as_writable_bytes(std::span(sums_))));
  PENSTOCK_TRY_VOID(ReadAt(at + sums_.size() * 8, std::as_writable_bytes(std::span(&sum, 1))));
  if (const uint64_t is = SumOfSums(sums_); is != sum) {
    return Refused(
        fmt::format("{}: the sum of its sums is {:016x}, expected {:016x}", path_, is, sum));
  }
  return {};
}

Status SealedReader::NextChunk() {
  const uint64_t done = chunks_read_ * kSealedChunk;
  PENSTOCK_CHECK(done < payload_bytes_);
  chunk_.resize(std::min<uint64_t>(kSealedChunk, payload_bytes_ - done));
  PENSTOCK_TRY_VOID(ReadAt(payload_at_ + done, chunk_));
  if (const uint64_t is = SumOf(chunk_); is != sums_[chunks_read_]) {
    return Refused(fmt::format("{}: the sum of {} bytes at {} is {:016x}, expected {:016x}", path_,
                               chunk_.size(), payload_at_ + done, is, sums_[chunks_read_]));
  }
  ++chunks_read_;
  chunk_used_ = 0;
  return {};
}

Status SealedReader::Read(std::span<std::byte> into) {
  while (!into.empty()) {
    if (chunk_used_ == chunk_.size()) PENSTOCK_TRY_VOID(NextChunk());
    const size_t taken = std::min(into.size(), chunk_.size() - chunk_used_);
    std::memcpy(into.data(), chunk_.data() + chunk_used_, taken);
    chunk_used_ += taken;
    into = into.subspan(taken);
  }
  return {};
}

}  // namespace penstock::io
