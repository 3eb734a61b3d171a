#include "models/k3/synth/write/filler.h"

#include <algorithm>
#include <span>

namespace penstock::k3 {

Filler::Filler(uint64_t seed, size_t threads) : seed_(seed) {
  for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i)
    threads_.emplace_back([this] { Run(); });
}

Filler::~Filler() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  threads_.clear();
}

void Filler::Start(Chunk& chunk) {
  {
    const std::lock_guard lock(mutex_);
    chunk.pieces_left = chunk.pieces.size();
    for (const Piece& piece : chunk.pieces) jobs_.push_back({&chunk, &piece});
  }
  work_.notify_all();
}

void Filler::Wait(const Chunk& chunk) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return chunk.pieces_left == 0; });
}

void Filler::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    const Job job = jobs_.front();
    jobs_.pop_front();
    lock.unlock();
    const Piece& piece = *job.piece;
    FillValues(seed_, piece.tensor->name, piece.tensor->dtype, piece.tensor->recipe, piece.first,
               std::span(job.chunk->memory + piece.at, piece.bytes));
    lock.lock();
    if (--job.chunk->pieces_left == 0) done_.notify_one();
  }
}

}  // namespace penstock::k3
