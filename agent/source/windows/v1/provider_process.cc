#include "agent/source/windows/v1/provider_process.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
#include "perflib/bytes.h"

namespace fleetperf::agent {
namespace {

// Lists of indexes are short; more is a broken parent.
constexpr uint32_t kMaxRequest = 64 << 10;
constexpr uint32_t kMaxMessage = 4096;

struct AnswerHeader {
  uint32_t code;
  uint32_t size;
};

absl::Status CheckSize(uint32_t size, uint32_t limit) {
  if (size <= limit) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the process announces ", size,
                                          " bytes; the limit is ", limit));
}

class ProcessPerformanceData : public PerformanceData {
 public:
  ProcessPerformanceData(std::vector<std::string> command,
                         absl::Duration timeout)
      : command_(std::move(command)), timeout_(timeout) {}

  absl::Status Query(const std::string& value, std::string* bytes) override {
    if (process_ == nullptr) {
      ASSIGN_OR_RETURN(process_, ChildProcess::Start(command_));
    }
    absl::Status answer;
    const absl::Status status = Ask(value, bytes, &answer);
    if (status.ok()) return answer;
    process_.reset();  // it may be anywhere in a provider's DLL
    return absl::AbortedError(
        absl::StrCat("the process of V1 providers, asked for \"", value,
                     "\": ", status.message()));
  }

 private:
  // Sets `answer` to the child's own status.
  absl::Status Ask(const std::string& value, std::string* bytes,
                   absl::Status* answer) {
    std::string request;
    perflib::AppendBytes(static_cast<uint32_t>(value.size()), &request);
    request += value;
    RETURN_IF_ERROR(process_->Write(request));

    const Clock& clock = Clock::Real();
    const absl::Duration end = clock.Monotonic() + timeout_;
    AnswerHeader header;
    RETURN_IF_ERROR(process_->Read(reinterpret_cast<char*>(&header),
                                   sizeof header, timeout_));
    const auto code = static_cast<absl::StatusCode>(header.code);
    RETURN_IF_ERROR(CheckSize(header.size, code == absl::StatusCode::kOk
                                               ? kMaxPerformanceData
                                               : kMaxMessage));
    bytes->resize(header.size);
    RETURN_IF_ERROR(
        process_->Read(bytes->data(), bytes->size(), end - clock.Monotonic()));
    if (code == absl::StatusCode::kOk) return absl::OkStatus();
    *answer = absl::Status(code, std::exchange(*bytes, ""));
    return absl::OkStatus();
  }

  const std::vector<std::string> command_;
  const absl::Duration timeout_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace

std::unique_ptr<PerformanceData> MakeProcessPerformanceData(
    std::vector<std::string> command, absl::Duration timeout) {
  return std::make_unique<ProcessPerformanceData>(std::move(command), timeout);
}

absl::Status ServePerformanceData(PerformanceData* data, ParentPipe* parent) {
  std::string request;
  std::string bytes;
  for (;;) {
    uint32_t size;
    if (!parent->Read(reinterpret_cast<char*>(&size), sizeof size).ok()) {
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(CheckSize(size, kMaxRequest));
    request.resize(size);
    RETURN_IF_ERROR(parent->Read(request.data(), request.size()));
    const absl::Status status = data->Query(request, &bytes);
    if (!status.ok())
      bytes = std::string(status.message().substr(0, kMaxMessage));
    std::string header;
    perflib::AppendBytes(
        AnswerHeader{.code = static_cast<uint32_t>(status.code()),
                     .size = static_cast<uint32_t>(bytes.size())},
        &header);
    RETURN_IF_ERROR(parent->Write(header));
    RETURN_IF_ERROR(parent->Write(bytes));
  }
}

}  // namespace fleetperf::agent
