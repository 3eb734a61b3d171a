#pragma once

#include <mutex>

#include "models/text/text_model.h"

namespace penstock::k3 {

// Carries a request to stop from the thread of the signals to a model that may not be there yet, or
// not any more. Threads: any.
class Cancellation {
 public:
  // Asks the attached model to stop; one that is attached later is asked at once.
  void Request() {
    const std::lock_guard lock(mutex_);
    requested_ = true;
    if (model_) model_->Cancel();
  }

  // The model, for as long as it may be asked; null before it is destroyed.
  void Attach(text::TextModel* model) {
    const std::lock_guard lock(mutex_);
    model_ = model;
    if (model_ && requested_) model_->Cancel();
  }

  bool requested() const {
    const std::lock_guard lock(mutex_);
    return requested_;
  }

 private:
  mutable std::mutex mutex_;
  text::TextModel* model_ = nullptr;
  bool requested_ = false;
};

}  // namespace penstock::k3
