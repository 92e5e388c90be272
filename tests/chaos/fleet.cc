#include "tests/chaos/fleet.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace fleetperf::testing {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kDiskSize = 6 << 20;
constexpr char kWriteFailed[] = "cannot write the spool";
constexpr char kWriteRecovered[] = "the spool can be written again";

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

void End(Process* process, int signal) {
  process->Signal(signal);
  const int expected = signal == SIGKILL ? -SIGKILL : 0;
  EXPECT_EQ(process->Wait(), expected) << process->error();
}

}  // namespace

ChaosAgent::ChaosAgent(Deployment* deployment, const std::string& name,
                       int aggregator, bool has_disk, const std::string& more)
    : name_(name),
      directory_(deployment->File("capture-" + name)),
      config_(deployment->File(name + ".yaml")),
      clock_(deployment->File("clock-" + name)),
      network_(aggregator) {
  const std::string state = deployment->File("state-" + name);
  fs::create_directory(state);
  if (has_disk) disk_.emplace(state, kDiskSize);
  Deployment::Write(
      config_,
      absl::StrCat(
          "name: ", name, "\naggregators: ['", network_.address(),
          "']\nstate_directory: ", state, "\ncapture: {directory: ", directory_,
          ", max_size: 10GiB}\n",
          Deployment::TlsSection(deployment->Issue("agent", {name})), more));
}

ChaosAgent::~ChaosAgent() {
  process_.reset();
  disk_.reset();
}

void ChaosAgent::Start() {
  process_ = std::make_unique<Process>(
      std::vector<std::string>{Deployment::Executable("fleetperf-agent"),
                               "--config", config_},
      clock_.environment());
}

void ChaosAgent::Kill() {
  End(process_.get(), SIGKILL);
  log_ += process_->error();
  process_.reset();
  interrupted_.merge(ReadNewestTaken(directory_));
}

void ChaosAgent::Stop() {
  // An agent that has not logged yet may not handle signals yet.
  EXPECT_TRUE(process_->WaitForError("keeping blocks in "))
      << process_->error();
  End(process_.get(), SIGTERM);
  log_ += process_->error();
  process_.reset();
}

void ChaosAgent::FillDisk() {
  disk_is_full_ = true;
  disk_->Fill(/*left=*/0);
}

void ChaosAgent::FreeDisk() {
  disk_->Free();
  disk_is_full_ = false;
}

bool ChaosAgent::DependsOnMemory() const {
  const std::string log = process_ != nullptr ? process_->error() : "";
  return disk_is_full_ ||
         CountOf(log, kWriteFailed) > CountOf(log, kWriteRecovered);
}

Ticks ChaosAgent::Taken() const { return ReadTaken(directory_); }

std::string ChaosAgent::Log() const {
  return process_ != nullptr ? log_ + process_->error() : log_;
}

ChaosAggregator::ChaosAggregator(Deployment* deployment)
    : deployment_(*deployment),
      sync_log_(deployment->File("synced")),
      clock_(deployment->File("clock-aggregator")) {}

void ChaosAggregator::Start() {
  std::map<std::string, std::string> environment = clock_.environment();
  environment["FLEETPERF_SYNC_LOG"] = sync_log_;
  process_ = deployment_.StartAggregator("agents: {reconnect_after: 10s}\n",
                                         environment);
}

void ChaosAggregator::Kill() {
  End(process_.get(), SIGKILL);
  process_.reset();
}

void ChaosAggregator::Stop() {
  End(process_.get(), SIGTERM);
  process_.reset();
}

// RocksDB's files only grow, so that the synced part of a file is its
// beginning.
void ChaosAggregator::CutPower() {
  Kill();
  std::map<uint64_t, uint64_t> synced;
  std::ifstream log(sync_log_);
  for (uint64_t inode, size; log >> inode >> size;) synced[inode] = size;
  for (const auto& file : fs::directory_iterator(deployment_.File("store"))) {
    struct stat status;
    if (!file.is_regular_file() || stat(file.path().c_str(), &status) != 0) {
      continue;
    }
    const uint64_t size = synced[status.st_ino];
    if (size < static_cast<uint64_t>(status.st_size)) {
      fs::resize_file(file.path(), size);
    }
  }
}

int ChaosAggregator::port() const {
  const std::string& address = deployment_.address();
  int port = 0;
  (void)absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port);
  return port;
}

}  // namespace fleetperf::testing
