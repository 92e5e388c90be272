// A store that forwards all calls to another one. A test overrides the calls
// that it wants to change.

#ifndef FLEETPERF_TESTS_SUPPORT_STORE_WRAPPER_H_
#define FLEETPERF_TESTS_SUPPORT_STORE_WRAPPER_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/store.h"

namespace fleetperf::testing {

class StoreWrapper : public aggregator::Store {
 public:
  explicit StoreWrapper(aggregator::Store* store) : store_(*store) {}

  const std::string& id() const override { return store_.id(); }
  uint64_t size() const override { return store_.size(); }
  Counts counts() const override { return store_.counts(); }
  const aggregator::Directory& directory() const override {
    return store_.directory();
  }
  absl::Status Commit(
      absl::Span<const aggregator::BatchToCommit> batches) override {
    return store_.Commit(batches);
  }
  absl::StatusOr<aggregator::StoredEpoch> OpenEpoch(
      const std::string& agent, uint64_t epoch,
      const aggregator::Dictionary::Limits& limits) override {
    return store_.OpenEpoch(agent, epoch, limits);
  }
  std::map<uint32_t, uint64_t> EpochsOf(
      const std::string& agent) const override {
    return store_.EpochsOf(agent);
  }
  absl::StatusOr<bool> HasBatch(uint32_t epoch_number, uint64_t sequence,
                                uint64_t fingerprint) const override {
    return store_.HasBatch(epoch_number, sequence, fingerprint);
  }
  std::map<LossCause, uint64_t> LostTicks(
      const std::string& agent, const std::string& machine) const override {
    return store_.LostTicks(agent, machine);
  }
  absl::Status KeepDefinitions(uint32_t epoch_number,
                               const v1::Definitions& definitions) override {
    return store_.KeepDefinitions(epoch_number, definitions);
  }
  absl::Status Read(
      const ReadRequest& request,
      absl::FunctionRef<absl::Status(const aggregator::Frame&)> on_frame,
      absl::FunctionRef<void(const aggregator::Loss&)> on_loss) override {
    return store_.Read(request, on_frame, on_loss);
  }
  absl::Status KeepExportCursors(bool keep) override {
    return store_.KeepExportCursors(keep);
  }
  absl::Status ReadUnexported(const aggregator::UnexportedRequest& request,
                              aggregator::UnexportedSink* sink) override {
    return store_.ReadUnexported(request, sink);
  }
  absl::Status SetExported(
      absl::Span<const aggregator::ExportProgress> progress) override {
    return store_.SetExported(progress);
  }
  absl::Status CheckRoom() const override { return store_.CheckRoom(); }
  bool HasCatalogue(absl::string_view hash) const override {
    return store_.HasCatalogue(hash);
  }
  absl::Status PutCatalogue(absl::string_view hash,
                            absl::string_view content) override {
    return store_.PutCatalogue(hash, content);
  }
  absl::StatusOr<std::string> GetCatalogue(
      absl::string_view hash) const override {
    return store_.GetCatalogue(hash);
  }
  absl::Status PutMachine(const aggregator::StoredMachine& machine) override {
    return store_.PutMachine(machine);
  }
  std::vector<aggregator::StoredMachine> GetMachines() const override {
    return store_.GetMachines();
  }
  std::optional<aggregator::StoredMachine> FindMachine(
      const std::string& name) const override {
    return store_.FindMachine(name);
  }
  absl::Status ForgetMachines(const std::set<std::string>& names) override {
    return store_.ForgetMachines(names);
  }
  void SetLabelRules(aggregator::LabelRules rules) override {
    store_.SetLabelRules(std::move(rules));
  }
  void SetLabelsListener(
      aggregator::Directory::LabelsListener listener) override {
    store_.SetLabelsListener(std::move(listener));
  }
  std::optional<absl::Time> KnownTime() const override {
    return store_.KnownTime();
  }
  absl::Status PutKnownTime(absl::Time time) override {
    return store_.PutKnownTime(time);
  }
  std::vector<aggregator::StoredMachine> GetMachines(
      const std::string& after, size_t most) const override {
    return store_.GetMachines(after, most);
  }
  absl::StatusOr<bool> Compact(absl::Time idle_since) override {
    return store_.Compact(idle_since);
  }
  absl::StatusOr<bool> Thin(aggregator::Resolution resolution,
                            absl::Time time) override {
    return store_.Thin(resolution, time);
  }
  absl::Status DropBefore(absl::Time time) override {
    return store_.DropBefore(time);
  }
  absl::Status DropTo(uint64_t size) override { return store_.DropTo(size); }
  absl::Status Backup(
      const std::string& directory,
      absl::FunctionRef<absl::Status(uint64_t, uint64_t)> on_copied) override {
    return store_.Backup(directory, on_copied);
  }

 private:
  aggregator::Store& store_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_STORE_WRAPPER_H_
