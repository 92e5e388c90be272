#include "agent/deliver/dictionary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"
#include "tests/agent/collect/test_countersets.h"
#include "tests/agent/deliver/batch_content.h"

namespace fleetperf::agent {
namespace {

using testing::AllDefinitions;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

std::vector<uint32_t> InstanceIds(const v1::Definitions& definitions) {
  std::vector<uint32_t> ids;
  for (const auto& instance : definitions.instances()) {
    ids.push_back(instance.id());
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST(Dictionary, GivesTheSameDefinitionTheSameId) {
  Dictionary dictionary;
  perflib::CountersetRegistration explained = testing::DiskRegistration();
  explained.help = "Explained.";
  explained.counters[0].help = "Explained, too.";
  perflib::CountersetRegistration changed = testing::DiskRegistration();
  changed.counters[0].type = perflib::kPerfCounterCounter;

  const uint32_t web = dictionary.DefineMachine("web-1");
  const uint32_t other = dictionary.DefineMachine("web-2");
  const uint32_t disk =
      dictionary.DefineCounterset(testing::DiskRegistration());
  const uint32_t disk_changed = dictionary.DefineCounterset(changed);
  const std::vector<Dictionary::Column> columns = {{1, 8, false},
                                                   {12, 4, true}};
  const absl::Duration second = absl::Seconds(1);
  std::set<uint32_t> ids = {0, web, other, disk, disk_changed};
  // Each query differs from the first in one property.
  const auto queries = [&] {
    return std::vector<uint32_t>{
        dictionary.DefineQuery(web, disk, second, columns),
        dictionary.DefineQuery(other, disk, second, columns),
        dictionary.DefineQuery(web, disk_changed, second, columns),
        dictionary.DefineQuery(web, disk, 2 * second, columns),
        dictionary.DefineQuery(web, disk, second, {{1, 8, false}}),
        dictionary.DefineQuery(web, disk, second,
                               {{1, 4, false}, {12, 4, true}}),
        dictionary.DefineQuery(web, disk, second,
                               {{2, 8, false}, {12, 4, true}}),
        dictionary.DefineQuery(web, disk, second,
                               {{1, 8, false}, {12, 4, false}}),
        dictionary.DefineQuery(web, disk, second,
                               {{12, 4, true}, {1, 8, false}})};
  };
  const std::vector<uint32_t> first = queries();
  ids.insert(first.begin(), first.end());
  EXPECT_EQ(ids.size(), 14) << "ids are not unique";

  EXPECT_EQ(dictionary.DefineMachine("web-1"), web);
  EXPECT_EQ(dictionary.DefineCounterset(explained), disk);
  EXPECT_EQ(dictionary.DefineCounterset(changed), disk_changed);
  EXPECT_EQ(queries(), first);
  EXPECT_EQ(AllDefinitions(dictionary).machines_size(), 2);
  EXPECT_EQ(AllDefinitions(dictionary).countersets_size(), 2);
  EXPECT_EQ(AllDefinitions(dictionary).queries_size(), 9);
}

TEST(Dictionary, GivesEachLifeADistinctId) {
  Dictionary dictionary;
  const uint32_t first = dictionary.DefineInstance(1, 2, "sda", 8, 0);
  const uint32_t second = dictionary.DefineInstance(1, 2, "sda", 8, 0);
  EXPECT_NE(first, second);
  EXPECT_THAT(InstanceIds(AllDefinitions(dictionary)),
              ElementsAre(first, second));
}

TEST(Dictionary, ReturnsAllDefinitions) {
  Dictionary dictionary;
  perflib::CountersetRegistration registration = testing::DiskRegistration();
  registration.help = "Not sent.";
  registration.counters[0].help = "Not sent.";
  registration.counters[0].default_scale = -2;
  const uint32_t machine = dictionary.DefineMachine("web-1");
  const uint32_t counterset = dictionary.DefineCounterset(registration);
  const uint32_t query = dictionary.DefineQuery(
      machine, counterset, absl::Milliseconds(1500), {{12, 4, true, true}});
  const uint32_t instance =
      dictionary.DefineInstance(machine, counterset, "Größe", 16, 3);

  const v1::Definitions all = AllDefinitions(dictionary);
  EXPECT_EQ(all.machines(0).id(), machine);
  EXPECT_EQ(all.machines(0).name(), "web-1");
  EXPECT_EQ(all.countersets(0).id(), counterset);
  registration.help = registration.counters[0].help = "";
  EXPECT_EQ(FromProto(all.countersets(0).registration()).value(), registration);
  EXPECT_EQ(all.queries(0).id(), query);
  EXPECT_EQ(all.queries(0).machine(), machine);
  EXPECT_EQ(all.queries(0).counterset(), counterset);
  EXPECT_EQ(all.queries(0).interval().seconds(), 1);
  EXPECT_EQ(all.queries(0).interval().nanos(), 500'000'000);
  EXPECT_EQ(all.queries(0).columns(0).counter_id(), 12);
  EXPECT_EQ(all.queries(0).columns(0).value_size(), 4);
  EXPECT_TRUE(all.queries(0).columns(0).only_linked());
  EXPECT_TRUE(all.queries(0).columns(0).wraps());
  EXPECT_EQ(all.instances(0).id(), instance);
  EXPECT_EQ(all.instances(0).machine(), machine);
  EXPECT_EQ(all.instances(0).counterset(), counterset);
  EXPECT_EQ(all.instances(0).name(), "Größe");
  EXPECT_EQ(all.instances(0).instance_id(), 16);
  EXPECT_EQ(all.instances(0).occurrence(), 3);

  // The next batch takes the same definitions.
  v1::BatchContent content;
  EXPECT_TRUE(dictionary.TakePending(1, &content));
  EXPECT_EQ(content.definitions().SerializeAsString(), all.SerializeAsString());
}

TEST(Dictionary, SendsDefinitionsAndRetirementsOnce) {
  Dictionary dictionary;
  v1::BatchContent content;
  EXPECT_FALSE(dictionary.TakePending(1, &content));
  EXPECT_FALSE(content.has_definitions());

  dictionary.DefineMachine("web-1");
  const uint32_t sda = dictionary.DefineInstance(1, 2, "sda", 8, 0);
  const uint32_t sdb = dictionary.DefineInstance(1, 2, "sdb", 16, 0);
  EXPECT_TRUE(dictionary.TakePending(2, &content));
  EXPECT_EQ(content.definitions().machines_size(), 1);
  EXPECT_THAT(InstanceIds(content.definitions()), ElementsAre(sda, sdb));
  EXPECT_THAT(content.retired_instances(), IsEmpty());

  content.Clear();
  dictionary.DefineMachine("web-1");
  EXPECT_FALSE(dictionary.TakePending(3, &content));

  dictionary.RetireInstance(sda);
  EXPECT_TRUE(dictionary.TakePending(4, &content));
  EXPECT_FALSE(content.has_definitions());
  EXPECT_THAT(content.retired_instances(), ElementsAre(sda));
  content.Clear();
  EXPECT_FALSE(dictionary.TakePending(5, &content));
}

TEST(Dictionary, KeepsRetiredInstancesUntilTheirBatchIsSettled) {
  Dictionary dictionary;
  v1::BatchContent content;
  const uint32_t a = dictionary.DefineInstance(1, 2, "a", 1, 0);
  const uint32_t b = dictionary.DefineInstance(1, 2, "b", 2, 0);
  const uint32_t c = dictionary.DefineInstance(1, 2, "c", 3, 0);
  dictionary.TakePending(5, &content);
  dictionary.RetireInstance(a);
  dictionary.Settle(100);  // no batch retires it yet
  EXPECT_THAT(InstanceIds(AllDefinitions(dictionary)), ElementsAre(a, b, c));
  dictionary.TakePending(101, &content);
  dictionary.RetireInstance(c);
  dictionary.TakePending(103, &content);
  dictionary.Settle(100);
  EXPECT_THAT(InstanceIds(AllDefinitions(dictionary)), ElementsAre(a, b, c));
  dictionary.Settle(102);
  EXPECT_THAT(InstanceIds(AllDefinitions(dictionary)), ElementsAre(b, c));
  dictionary.Settle(103);
  EXPECT_THAT(InstanceIds(AllDefinitions(dictionary)), ElementsAre(b));
}

TEST(Dictionary, SplitsDefinitionsInDependencyOrder) {
  Dictionary dictionary;
  const uint32_t machine = dictionary.DefineMachine("web-1");
  const uint32_t disk =
      dictionary.DefineCounterset(testing::TestRegistrations()[1]);
  const uint32_t query = dictionary.DefineQuery(
      machine, disk, absl::Seconds(1),
      {{.counter_id = 1, .value_size = 8, .only_linked = false}});
  std::vector<uint32_t> instances;
  for (uint32_t i = 0; i < 1000; ++i) {
    instances.push_back(
        dictionary.DefineInstance(machine, disk, "instance", i, 0));
  }
  constexpr size_t kPartBytes = 2000;
  const std::vector<v1::Definitions> parts = dictionary.All(kPartBytes);
  EXPECT_GT(parts.size(), 5);
  v1::Definitions all;
  for (const v1::Definitions& part : parts) {
    // Each definition needs one or two additional bytes in its part.
    EXPECT_LT(part.ByteSizeLong(), 2 * kPartBytes);
    all.MergeFrom(part);
    // Its references are defined by now.
    if (part.queries_size() > 0) {
      EXPECT_EQ(all.countersets(0).id(), disk);
    }
    if (part.instances_size() > 0) {
      EXPECT_EQ(all.queries(0).id(), query);
    }
  }
  EXPECT_THAT(InstanceIds(all), ElementsAreArray(instances));
}

}  // namespace
}  // namespace fleetperf::agent
