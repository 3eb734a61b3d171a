#include "models/k3/experts/expert_reads.h"

#include <algorithm>
#include <utility>

namespace penstock::k3 {

std::array<io::Extent, kExpertTensors> TensorsOf(const ExpertTensors& expert) {
  return {expert.w1_packed, expert.w1_scale,  expert.w2_packed,
          expert.w2_scale,  expert.w3_packed, expert.w3_scale};
}

ExpertReads ReadsOf(const ExpertTensors& expert) {
  auto tensors = TensorsOf(expert);
  std::sort(tensors.begin(), tensors.end(), [](const io::Extent& a, const io::Extent& b) {
    return std::pair(a.file, a.offset) < std::pair(b.file, b.offset);
  });
  ExpertReads reads;
  for (const io::Extent& tensor : tensors) {
    io::Extent* last = reads.count == 0 ? nullptr : &reads.extents[reads.count - 1];
    if (last != nullptr && last->file == tensor.file &&
        last->offset + last->bytes == tensor.offset) {
      last->bytes += tensor.bytes;
    } else {
      reads.extents[reads.count++] = tensor;
    }
  }
  return reads;
}

}  // namespace penstock::k3
