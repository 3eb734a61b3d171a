#include "models/k3/weights/packed/decode_queue.h"

#include <utility>

#include "graph/stage.h"

namespace penstock::k3 {

DecodeQueue::DecodeQueue(const Pass& pass, WeightStream& stream, ByteRing& ring,
                         StripeDecoders& decoders, graph::Arena& arena)
    : pass_(pass),
      stream_(stream),
      ring_(ring),
      decoders_(decoders),
      arena_(arena),
      next_(stream.NextStreamed(0)),
      done_(pass.extents().size()),
      waiting_(pass.extents().size()),
      places_(pass.extents().size()) {
  ring_.OnFree([this] { Pump(); });
}

void DecodeQueue::Decode(uint32_t number, std::function<void()> done) {
  bool taken = false;
  {
    const std::lock_guard lock(mutex_);
    taken = !paused_;
    waiting_[number] = taken;
    if (taken) done_[number] = std::move(done);
  }
  if (!taken) {
    stream_.PutDecoded(number, Cancelled("the step is over"));
    return done();
  }
  Pump();
}

// Gives places to stripes in order of use, as long as they are there and fit.
void DecodeQueue::Pump() {
  for (;;) {
    uint32_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      if (paused_ || !waiting_[next_]) return;
      auto place = ring_.Allocate(pass_.RawBytes(next_));
      if (!place) return;
      number = next_;
      places_[number] = std::move(*place);
      waiting_[number] = false;
      next_ = stream_.NextStreamed(number + 1);
    }
    arena_.Enqueue([this, number] { Run(number); });
  }
}

void DecodeQueue::Run(uint32_t number) {
  if (auto stored = stream_.TakeStored(number)) Unpack(number, *std::move(stored));
  places_[number] = MutableBuffer();  // Unused where the stripe was not read.
  // The last act: whoever waits for it may take all of this down.
  const std::function<void()> done = std::exchange(done_[number], nullptr);
  done();
}

void DecodeQueue::Unpack(uint32_t number, BufferRef stored) {
  CountWorker(1);
  const uint64_t start = NowNs(Clock::kWall);
  MutableBuffer place = std::move(places_[number]);
  const size_t bytes = pass_.RawBytes(number);
  StripeDecoders::Lease decoder = decoders_.Take();
  Status decoded = decoder->Begin(number, {stored.data(), stored.size()});
  if (decoded) decoded = decoder->DecodeAll({place.data(), bytes}, ops::Store::kStreaming);
  const uint64_t end = NowNs(Clock::kWall);
  decoders_.Count(end - start, bytes);
  if (StepObserver* const observer = observer_.load()) observer->Decoded(number, start, end);
  CountWorker(-1);
  stored.reset();  // Its bytes of the ring are free for the next read.
  if (decoded) {
    stream_.PutDecoded(number, std::move(place).Freeze());
  } else {
    stream_.PutDecoded(number, std::move(decoded).error());
  }
}

void DecodeQueue::CountWorker(int change) {
  const std::lock_guard lock(work_mutex_);
  working_ += change;
  const uint64_t now = NowNs(Clock::kWall);
  if (working_ == 0) return work_times_.Close(now);
  work_times_.Open(now);
}

void DecodeQueue::Pause() {
  std::vector<std::pair<uint32_t, std::function<void()>>> unanswered;
  {
    const std::lock_guard lock(mutex_);
    paused_ = true;
    for (uint32_t i = 0; i < waiting_.size(); ++i) {
      if (waiting_[i]) unanswered.emplace_back(i, std::exchange(done_[i], nullptr));
      waiting_[i] = false;
    }
  }
  for (const auto& [number, done] : unanswered) {
    stream_.PutDecoded(number, Cancelled("the step is over"));
    done();
  }
}

void DecodeQueue::Restart() {
  const std::lock_guard lock(mutex_);
  next_ = stream_.NextStreamed(0);
  paused_ = false;
}

}  // namespace penstock::k3
