#include "agent/replay.h"

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/collect/player.h"
#include "agent/deliver/catalogue.h"
#include "agent/deliver/uplink.h"
#include "agent/source/replay/replay_source.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "base/tls/certificate_renewal.h"
#include "base/tls/tls_identity.h"

namespace fleetperf::agent {
namespace {

// Roughly the batch size of a live agent.
constexpr uint64_t kBlocksPerBatch = 10;

}  // namespace

absl::Status ReplayCapture(const Config& config, StopSignal& stop) {
  ASSIGN_OR_RETURN(const auto identity,
                   TlsIdentity::Load(config.tls, Role::kAgent));
  CertificateRenewal renewal(identity);
  ASSIGN_OR_RETURN(std::vector<Recording> recordings,
                   ReadRecordings(config.replay_directory));
  const std::string operating_system =
      recordings.front().capture.operating_system();
  LogInfoOf(config.name, absl::StrCat("playing the capture of ",
                                      recordings.front().capture.machine(),
                                      " as ", config.name));
  ASSIGN_OR_RETURN(auto registrations, RegistrationsOf(recordings));
  const HashedCatalogue catalogue = MakeCatalogue(std::move(registrations));
  // The player limits the spool's size itself. Nothing may be dropped.
  Delivery delivery({.epoch = EpochOf(recordings, config.name),
                     .batch_period = config.batch_period,
                     .spool_bytes = UINT64_MAX,
                     .blocks_per_batch = kBlocksPerBatch});
  ASSIGN_OR_RETURN(const std::unique_ptr<Player> player,
                   Player::Open(std::move(recordings),
                                {.machine = config.name,
                                 .delivery = &delivery,
                                 .max_spool_bytes = config.spool_bytes / 2}));
  absl::Mutex mutex;
  absl::Status refused;  // guarded by mutex
  const Uplink uplink(Uplink::Options{
      .aggregators = PreferredAggregators(config),
      .credentials = [&identity] { return identity->ForClient(); },
      .renew_certificate = [&renewal] { renewal.Run(); },
      .agent =
          {
              .agent = config.name,
              .operating_system = operating_system,
              .labels = config.labels,
              .delivery = &delivery,
              .catalogue = [&catalogue] { return catalogue; },
              .enumerate_instances = [](const std::string&,
                                        const perflib::Guid&)
                  -> absl::StatusOr<std::vector<perflib::InstanceName>> {
                return absl::FailedPreconditionError(
                    "this agent plays a capture");
              },
              .apply_plan = [](const v1::Plan*) { return v1::PlanReport(); },
          },
      .on_refused =
          [&](const absl::Status& reason) {
            {
              absl::MutexLock lock(&mutex);
              refused = reason;
            }
            stop.Raise();
          }});
  absl::Status played;
  std::thread playing([&] {
    played = player->Play();
    stop.Raise();
  });
  stop.Wait();
  player->Stop();
  playing.join();
  absl::MutexLock lock(&mutex);
  return refused.ok() ? played : refused;
}

}  // namespace fleetperf::agent
