#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace penstock {

// Why an operation did not succeed, by what the caller can do about it. The program's exit code
// follows from it (ExitCode).
enum class ErrorCode {
  kFailed,     // The outside world failed while running: a device, the kernel, a full disk.
  kRefused,    // The input or the request cannot work; nothing was started.
  kUnsound,    // It ran, and what came out must not be trusted: non-finite, failed verification.
  kCancelled,  // Somebody asked to stop.
};

// One sentence for a person: file, tensor, expected and got. `sys` is the errno behind it or 0,
// `where` the place in the program's own terms ("layer 3, step 12"), empty if there is none.
struct Error {
  ErrorCode code = ErrorCode::kFailed;
  std::string message;
  int sys = 0;
  std::string where;
};

inline Error Failed(std::string message, int sys = 0) {
  return {ErrorCode::kFailed, std::move(message), sys, {}};
}
inline Error Refused(std::string message) {
  return {ErrorCode::kRefused, std::move(message), 0, {}};
}
inline Error Unsound(std::string message, std::string where = {}) {
  return {ErrorCode::kUnsound, std::move(message), 0, std::move(where)};
}
inline Error Cancelled(std::string message) {
  return {ErrorCode::kCancelled, std::move(message), 0, {}};
}

// 1 runtime failure, 2 refused input or usage, 4 unsound, 130 cancelled by SIGINT.
int ExitCode(const Error& error);

// A value or an Error, with the names of std::expected (which GCC 12 lacks in C++20).
// Reading the side that is not there is undefined; debug builds of libstdc++ trap it.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace penstock

#define PENSTOCK_CONCAT_(a, b) a##b
#define PENSTOCK_CONCAT(a, b) PENSTOCK_CONCAT_(a, b)

// PENSTOCK_TRY(auto x, F()): x becomes F's value, or the enclosing function returns F's error.
#define PENSTOCK_TRY(declaration, expression) \
  PENSTOCK_TRY_(declaration, expression, PENSTOCK_CONCAT(try_result_, __LINE__))
#define PENSTOCK_TRY_(declaration, expression, temporary) \
  auto temporary = (expression);                          \
  if (!temporary) return std::move(temporary).error();    \
  declaration = std::move(temporary).value()

// The same for an expression without a value.
#define PENSTOCK_TRY_VOID(expression)                                                      \
  do {                                                                                     \
    if (auto try_status = (expression); !try_status) return std::move(try_status).error(); \
  } while (false)
