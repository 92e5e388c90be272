#include "perflib/defect.h"

#include "absl/strings/str_cat.h"

namespace fleetperf::perflib {
namespace {

std::string Explanation(const Defect& defect) {
  switch (defect.problem) {
    case Defect::Problem::kTruncated:
      return absl::StrCat(" needs ", defect.value, " bytes, ", defect.limit,
                          " remain");
    case Defect::Problem::kTooSmall:
      return absl::StrCat(" is ", defect.value, ", it must be at least ",
                          defect.limit);
    case Defect::Problem::kTooLarge:
      return absl::StrCat(" is ", defect.value, ", it must be at most ",
                          defect.limit);
    case Defect::Problem::kNegative:
      return absl::StrCat(" is ", static_cast<int64_t>(defect.value),
                          ", it must be at least ",
                          static_cast<int64_t>(defect.limit));
    case Defect::Problem::kUnknown:
      return absl::StrCat(" is ", defect.value, ", which is unknown");
    case Defect::Problem::kUnterminated:
      return absl::StrCat(" has no NUL within its ", defect.limit, " bytes");
    case Defect::Problem::kUnaligned:
      return absl::StrCat(" is ", defect.value, ", which is no multiple of ",
                          defect.limit);
    case Defect::Problem::kUnused:
      return absl::StrCat(" leaves ", defect.value, " bytes unused");
    case Defect::Problem::kContradicted:
      return absl::StrCat(" is ", defect.value, ", but the type says ",
                          defect.limit);
  }
  return " is wrong";
}

}  // namespace

std::string Defect::ToString() const {
  return absl::StrCat("offset ", offset, ": ", what, Explanation(*this));
}

absl::Status Defect::ToStatus() const {
  return absl::InvalidArgumentError(ToString());
}

}  // namespace fleetperf::perflib
