#include "agent/source/own_provider.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "agent/source/provider_source.h"

namespace fleetperf::agent {
namespace {

class OwnProvider : public Provider {
 public:
  explicit OwnProvider(const OwnCounterset* counterset)
      : Provider(counterset->registration()), counterset_(*counterset) {}

  absl::Status Sample(ColumnSet, const perflib::Clocks&,
                      CountersetSample* sample) override {
    sample->AddInstance("", 0);
    const OwnCounterset::Values values = counterset_.Read();
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].has_value()) sample->Set(i, *values[i]);
    }
    return absl::OkStatus();
  }

 private:
  const OwnCounterset& counterset_;
};

}  // namespace

std::unique_ptr<Source> MakeOwnSource(const OwnCounterset* counterset,
                                      const Clock& clock) {
  std::vector<std::unique_ptr<Provider>> providers;
  providers.push_back(std::make_unique<OwnProvider>(counterset));
  return MakeProviderSource(std::move(providers), clock);
}

}  // namespace fleetperf::agent
