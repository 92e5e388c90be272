// Writes the seeds of the fuzzer of peers' answers.

#include <memory>
#include <string>
#include <vector>

#include "aggregator/peers/sample_encoder.h"
#include "base/status_macros.h"
#include "fleetperf/v1/peer.pb.h"
#include "fleetperf/v1/subscription.pb.h"
#include "proto/conversions.h"
#include "tests/fuzz/seed_files.h"
#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"

namespace fleetperf {
namespace {

using aggregator::Instance;

// Returns three ticks of two disks, of which the second has the last two.
aggregator::Frame MakeFrame(
    const std::shared_ptr<const aggregator::Schema>& schema) {
  auto query = std::make_shared<aggregator::CollectedQuery>();
  query->schema = schema;
  query->interval = absl::Seconds(1);
  query->columns = {{.counter_id = testing::kTransfers, .value_size = 8},
                    {.counter_id = testing::kQueueLength, .value_size = 4}};
  aggregator::Frame frame{.query = std::move(query), .epoch_number = 1};
  frame.clocks = std::make_shared<const std::vector<perflib::Clocks>>(
      std::vector<perflib::Clocks>{testing::ClocksAt(1), testing::ClocksAt(2),
                                   testing::ClocksAt(3)});
  const auto disk = [](const std::string& name, uint32_t definition) {
    return std::make_shared<const Instance>(
        Instance{.name = name, .life = aggregator::MakeLife(1, definition)});
  };
  frame.runs = {{disk("C:", 4), 0, 3, 0}, {disk("D:", 5), 1, 2, 3}};
  frame.columns = {{.values = {1, 5, 9, 300, 400}, .missing = {3}},
                   {.constant = true, .values = {2, 7}}};
  frame.failures = {{1, 5}};
  return frame;
}

v1::DescribeResponse MakeDescription() {
  v1::DescribeResponse response;
  response.set_store_id("0123456789abcdef");
  response.add_counterset_names("Disk");
  *response.add_schemas() = ToProto(testing::DiskRegistration());
  v1::DescribeResponse::Query* query = response.add_queries();
  query->set_interval_nanos(1'000'000'000);
  query->add_counters(testing::kTransfers);
  v1::DescribeResponse::Machine* machine = response.add_machines();
  machine->set_name("web-1");
  machine->set_agent("web-1");
  (*machine->mutable_labels())["role"] = "web";
  machine->set_registered(true);
  machine->set_newest_sample(1'800'000'000'000'000'000);
  v1::DescribeResponse::Ticks* ticks = machine->add_ticks();
  ticks->set_oldest(1'799'999'999'000'000'000);
  ticks->set_newest(1'800'000'000'000'000'000);
  return response;
}

// Returns three values of a machine, of which the second aggregator repeats
// one.
std::string LiveValues() {
  v1::SubscribeResponse first;
  v1::Series* const series = first.add_series();
  series->set_id(1);
  series->set_machine("web-1");
  series->set_path("\\Memory\\Available Bytes");
  first.add_rankings()->set_interval_nanos(1'000'000'000);
  v1::Points* const points = first.add_points();
  points->set_series(1);
  for (const int64_t time :
       {int64_t{1'800'000'000'000'000'000}, int64_t{1'000'000'000}}) {
    points->add_time_unix_nanos(time);
    points->add_values(5);
  }
  v1::SubscribeResponse second = first;
  second.mutable_points(0)->set_time_unix_nanos(0, 1'800'000'001'000'000'000);
  second.add_ended(1);
  return Part(first.SerializeAsString()) + Part(second.SerializeAsString());
}

}  // namespace

absl::Status WritePeerAnswers(const std::string& root) {
  const auto schema =
      std::make_shared<const aggregator::Schema>(aggregator::Schema{
          .hash = "hash", .registration = testing::DiskRegistration()});
  std::string samples(1, '\0');
  aggregator::SampleEncoder encoder(
      {schema}, [&](const v1::ReadSamplesResponse& response) {
        samples += Part(response.SerializeAsString());
        return absl::OkStatus();
      });
  RETURN_IF_ERROR(encoder.SendEpochs({{1, 7}}));
  RETURN_IF_ERROR(encoder.Add(MakeFrame(schema)));
  encoder.Add(aggregator::Loss{.ticks = 3, .cause = LossCause::kSpoolFull});
  RETURN_IF_ERROR(encoder.Finish());
  RETURN_IF_ERROR(Write(root, "peer_samples", "samples", samples));
  RETURN_IF_ERROR(Write(root, "peer_samples", "live", "\2" + LiveValues()));
  return Write(root, "peer_samples", "description",
               "\1" + Part(MakeDescription().SerializeAsString()));
}

}  // namespace fleetperf
