// The bodies of the pipeline's stages that compute.
#include <span>
#include <utility>

#include "models/k3/layers/kda.h"
#include "models/k3/layers/mla.h"
#include "models/k3/layers/moe.h"
#include "models/k3/layers/operands.h"
#include "models/k3/step/pipeline.h"

namespace penstock::k3 {

// The block's rows as bf16: all of them, or tile by tile as they are decoded.
template <class Work>
Status Pipeline::ForRows(const Block& block, const Work& work) {
  if (block.tiles == 0) {
    work(reinterpret_cast<const uint16_t*>(block.weights.data()), block.first_row, block.rows);
    return {};
  }
  const size_t row_bytes =
      size_t{s_.pass.ProductOf(s_.pass.extents()[block.extent]).matrix.cols} * 2;
  StripeDecoders::Lease decoder = s_.decoders->Take();
  PENSTOCK_TRY_VOID(decoder->Begin(block.extent, {block.weights.data(), block.weights.size()}));
  size_t row = block.first_row;
  for (size_t i = block.first_tile; i < block.first_tile + block.tiles; ++i) {
    const uint64_t start = NowNs(Clock::kWall);
    PENSTOCK_TRY(const std::span<const std::byte> tile, decoder->Tile(i));
    s_.decoders->Count(NowNs(Clock::kWall) - start, tile.size());
    work(reinterpret_cast<const uint16_t*>(tile.data()), row, tile.size() / row_bytes);
    row += tile.size() / row_bytes;
  }
  return {};
}

void Pipeline::Multiply(const Block& block, BlockStage::Outputs& out) {
  if (Over()) return;
  const PassExtent& extent = s_.pass.extents()[block.extent];
  const Product& product = s_.pass.ProductOf(extent);
  idle_.Enter(block.late ? kOnTrunk : kOnGraph);
  const size_t cols = product.matrix.cols;
  const size_t first = product.role == Role::kHead ? context_.first_logits : 0;
  const Rows x = InputOf(context_, product.role);
  const Rows y =
      OutputOf(context_, product.role);  // Logits begin with the first row that is wanted.
  const Status done = ForRows(block, [&](const uint16_t* rows, size_t first_row, size_t count) {
    context_.kernels.matvec_bf16(rows, count, cols, x[first], x.stride, context_.positions - first,
                                 y[0] + first_row, y.stride);
  });
  idle_.Leave();
  if (!Failed(done)) out.Put<0>(Done{Event::kMultiplied, extent.product, block.rows});
}

void Pipeline::Attend(const Block& block, BlockStage::Outputs& out) {
  if (Over()) return;
  idle_.Enter(block.late ? kOnTrunk : kOnGraph);
  const Status done = ForRows(block, [&](const uint16_t* rows, size_t first_row, size_t count) {
    AttendLatent(context_, rows, first_row, count);
  });
  idle_.Leave();
  if (Failed(done)) return;
  out.Put<0>(Done{Event::kMultiplied, s_.pass.extents()[block.extent].product, block.rows});
}

void Pipeline::RunHeads(const Heads& heads, graph::Stage<Heads, Done>::Outputs& out) {
  // The version before, which the caller may read when the step has failed, is advanced in place.
  const graph::Outcome::Claim claim(graph_.outcome());
  if (!claim) return;
  idle_.Enter(kOnGraph);
  for (uint32_t head = heads.first; head < heads.first + heads.count && !Over(); ++head) {
    KdaHead(context_, head);
  }
  idle_.Leave();
  out.Put<0>(Done{Event::kKdaHeads, 0, heads.count});
}

void Pipeline::Apply(const ReadyExpert& expert, graph::Stage<ReadyExpert, Done>::Outputs& out) {
  if (Over()) return;
  idle_.Enter(expert.late ? kOnExpert : kOnGraph);
  ApplyExpert(context_, expert.weights.view, expert.index);
  idle_.Leave();
  out.Put<0>(Done{Event::kExpertApplied, 0, 0});
}

io::Extent Pipeline::EmbedRow(text::TokenId id) const {
  const size_t row_bytes = size_t{s_.embed.cols} * 2;
  return {s_.embed.extent.file, s_.embed.extent.offset + id * row_bytes, row_bytes, 0};
}

void Pipeline::ReadRow(const Token& token, graph::Reply<Done> reply) {
  const io::Extent row = EmbedRow(token.id);
  const size_t bytes = s_.reader.BufferBytes(row);
  auto block = s_.embed_rows.Allocate();
  if (!block) {
    graph_.outcome().Fail(penstock::Failed("the embedding row of an earlier step is still held"));
    return reply(Done{Event::kEmbedded, kNone, 0});
  }
  MutableBuffer place = block->TakeFront(bytes);
  block.reset();  // The block is free again when the read's reference drops, not this one.
  s_.reader.Read(row, std::move(place), io::ReadClass::kDemanded,
                 [this, reply, position = token.position](Result<BufferRef> result) {
                   Done done{Event::kEmbedded, 0, 0};
                   if (!result) {
                     graph_.outcome().Fail(result.error());
                     done.index = kNone;
                   } else {
                     const BufferRef bits = std::move(*result);
                     idle_.Enter(kOnEmbed);
                     context_.kernels.widen_bf16(reinterpret_cast<const uint16_t*>(bits.data()),
                                                 s_.embed.cols, context_.act.acc[position]);
                     idle_.Leave();
                   }
                   reply(done);
                 });
}

// Rows of a router, for the look ahead. Rows that cannot be decoded are no prediction, and the
// product that needs them will say so.
void Pipeline::Predict(const Glimpse& glimpse) {
  if (glimpse.last)
    return lookahead_.Predict(glimpse.visit, glimpse.step, glimpse.layer, glimpse.router);
  if (Over() || lookahead_.IsLate(glimpse.visit)) return;
  const size_t cols = s_.pass.ProductOf(s_.pass.extents()[glimpse.block.extent]).matrix.cols;
  const Status done =
      ForRows(glimpse.block, [&](const uint16_t* rows, size_t first_row, size_t count) {
        context_.kernels.matvec_bf16(rows, count, cols, lookahead_.input(), cols, 1,
                                     lookahead_.scores() + first_row, context_.shape.experts);
      });
  if (done) lookahead_.AddRows(glimpse.block.rows);
}

}  // namespace penstock::k3
