// Accepts contents of files that other programs replace.

#ifndef FLEETPERF_BASE_SETTLED_H_
#define FLEETPERF_BASE_SETTLED_H_

#include <optional>
#include <utility>

namespace fleetperf {

// The value in use, and a new one that was seen once. A program that writes a
// file in place may have written half of it, so a new value is used only if two
// looks in a row saw it. Thread-compatible.
template <typename T>
class Settled {
 public:
  explicit Settled(T used) : used_(std::move(used)) {}

  // The value in use.
  const T& used() const { return used_; }

  // Returns whether `seen` differs from the value in use and is what the look
  // before saw.
  bool IsNew(const T& seen) {
    if (seen == used_) {
      last_.reset();
      return false;
    }
    if (last_ == seen) return true;
    last_ = seen;
    return false;
  }

  // Uses `value` from now on.
  void Use(T value) {
    used_ = std::move(value);
    last_.reset();
  }

 private:
  T used_;
  std::optional<T> last_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SETTLED_H_
