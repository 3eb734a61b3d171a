#include "models/k3/census/tensor_list.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

TEST(TensorList, HasALineForEachTensor) {
  const auto checkpoint = *io::Checkpoint::Open(kTiny, nullptr);
  const std::string list = TensorList(*checkpoint);
  EXPECT_EQ(static_cast<size_t>(std::count(list.begin(), list.end(), '\n')),
            checkpoint->size() + 1);
  EXPECT_NE(list.find("language_model.lm_head.weight\tBF16\t[2048, 128]\t"), std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
