#include "aggregator/samples/dictionary.h"

#include <functional>
#include <map>

#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"
#include "tests/support/batch_writer.h"
#include "tests/support/countersets.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

using enum absl::StatusCode;

// Machine 1, counterset 2, query 3 and instance 4.
v1::Definitions SomeDefinitions() {
  testing::BatchWriter writer;
  const uint32_t machine = writer.Machine("web-1");
  const uint32_t disk = writer.Counterset(testing::DiskRegistration());
  writer.Query(machine, disk, absl::Seconds(1), {{testing::kTransfers}});
  writer.Instance(machine, disk, "C:");
  return writer.definitions();
}

class DictionaryTest : public ::testing::Test {
 protected:
  absl::Status FindInstance(Dictionary& dictionary, uint32_t id) {
    return dictionary.FindInstances({id}, &found_);
  }

  SchemaTable schemas_;
  Dictionary dictionary_{1, &schemas_, nullptr, {}};
  std::vector<std::shared_ptr<const Instance>> found_;
};

TEST_F(DictionaryTest, FindsDefinitions) {
  ASSERT_OK(dictionary_.Apply(SomeDefinitions()));
  ASSERT_OK_AND_ASSIGN(const std::string machine, dictionary_.FindMachine(1));
  EXPECT_EQ(machine, "web-1");
  ASSERT_OK_AND_ASSIGN(const auto schema, dictionary_.FindCounterset(2));
  EXPECT_EQ(schema->registration.name, "Disk");
  ASSERT_OK_AND_ASSIGN(const auto query, dictionary_.FindQuery(3));
  EXPECT_EQ(query->schema, schema);
  ASSERT_OK(FindInstance(dictionary_, 4));
  EXPECT_EQ(found_[0]->name, "C:");
  EXPECT_EQ(dictionary_.instances(), 1);
}

TEST_F(DictionaryTest, NamesUndefinedId) {
  EXPECT_THAT(dictionary_.FindMachine(9),
              StatusIs(kFailedPrecondition, "machine 9 is not defined"));
  EXPECT_THAT(dictionary_.FindCounterset(9),
              StatusIs(kFailedPrecondition, "counterset 9 is not defined"));
  EXPECT_THAT(dictionary_.FindQuery(9),
              StatusIs(kFailedPrecondition, "query 9 is not defined"));
  EXPECT_THAT(FindInstance(dictionary_, 9),
              StatusIs(kFailedPrecondition, "instance 9 is not defined"));
}

TEST_F(DictionaryTest, RejectsInvalidDefinitions) {
  using Definitions = v1::Definitions;
  const auto query = [](Definitions& d) { return d.mutable_queries(0); };
  const struct {
    std::function<void(Definitions&)> change;
    absl::StatusCode code;
    const char* message;
  } kCases[] = {
      {[](Definitions& d) { d.mutable_machines(0)->set_id(0); },
       kInvalidArgument, "MachineDefinition.id is 0"},
      {[](Definitions& d) { d.mutable_machines(0)->clear_name(); },
       kInvalidArgument, "MachineDefinition.name is empty"},
      {[](Definitions& d) {
         d.mutable_machines(0)->set_name(std::string(4097, 'x'));
       },
       kInvalidArgument,
       "MachineDefinition.name has 4097 bytes, more than 4096"},
      {[](Definitions& d) { d.mutable_countersets(0)->set_id(0); },
       kInvalidArgument, "CountersetDefinition.id is 0"},
      {[](Definitions& d) {
         d.mutable_countersets(0)->mutable_registration()->set_guid("short");
       },
       kInvalidArgument,
       "CountersetRegistration.guid has 5 bytes instead of 16"},
      {[&](Definitions& d) { query(d)->set_id(0); }, kInvalidArgument,
       "QueryDefinition.id is 0"},
      {[&](Definitions& d) { query(d)->set_machine(9); }, kFailedPrecondition,
       "machine 9 is not defined"},
      {[&](Definitions& d) { query(d)->set_counterset(9); },
       kFailedPrecondition, "counterset 9 is not defined"},
      {[&](Definitions& d) { query(d)->clear_interval(); }, kInvalidArgument,
       "QueryDefinition 3.interval is 0, not between 1s and 24h"},
      {[&](Definitions& d) {
         query(d)->mutable_interval()->set_seconds(86'401);
       },
       kInvalidArgument, "QueryDefinition 3.interval is 24h1s"},
      {[&](Definitions& d) { query(d)->mutable_interval()->set_seconds(-1); },
       kInvalidArgument, "QueryDefinition 3.interval is -1s"},
      {[&](Definitions& d) { query(d)->mutable_columns(0)->set_value_size(5); },
       kInvalidArgument, "QueryDefinition 3: value_size is 5, neither 4 nor 8"},
      {[&](Definitions& d) {
         query(d)->mutable_columns(0)->set_counter_id(99);
       },
       kInvalidArgument,
       "QueryDefinition 3: counterset \"Disk\" has no counter 99"},
      {[](Definitions& d) {
         d.mutable_countersets(0)->mutable_registration()->set_name(
             std::string(4097, 'x'));
       },
       kInvalidArgument,
       "CountersetRegistration.name has 4097 bytes, more than 4096"},
      {[](Definitions& d) {
         d.mutable_countersets(0)
             ->mutable_registration()
             ->mutable_counters(0)
             ->set_name(std::string(4097, 'x'));
       },
       kInvalidArgument,
       "CounterRegistration.name has 4097 bytes, more than 4096"},
      {[&](Definitions& d) { query(d)->clear_columns(); }, kInvalidArgument,
       "QueryDefinition 3 has no columns"},
      {[&](Definitions& d) {
         while (query(d)->columns_size() <= 4096) {
           *query(d)->add_columns() =
               v1::ColumnDefinition(query(d)->columns(0));
         }
       },
       kInvalidArgument, "QueryDefinition 3 has 4097 columns, more than 4096"},
      {[](Definitions& d) { d.mutable_instances(0)->set_id(0); },
       kInvalidArgument, "InstanceDefinition.id is 0"},
      {[](Definitions& d) {
         d.mutable_instances(0)->set_name(std::string(4097, 'x'));
       },
       kInvalidArgument,
       "InstanceDefinition.name has 4097 bytes, more than 4096"},
  };
  for (const auto& test : kCases) {
    Dictionary dictionary(1, &schemas_, nullptr, {});
    v1::Definitions definitions = SomeDefinitions();
    test.change(definitions);
    EXPECT_THAT(dictionary.Apply(definitions),
                StatusIs(test.code, HasSubstr(test.message)));
  }
}

TEST_F(DictionaryTest, EnforcesLimits) {
  Dictionary small(
      1, &schemas_, nullptr,
      {.max_countersets = 1, .max_columns = 1, .max_instances = 1});
  v1::Definitions definitions = SomeDefinitions();
  ASSERT_OK(small.Apply(definitions));
  ASSERT_OK(small.Apply(definitions));  // repeated definitions do not count

  v1::Definitions counterset;
  *counterset.add_countersets() = definitions.countersets(0);
  counterset.mutable_countersets(0)->set_id(12);
  EXPECT_THAT(small.Apply(counterset),
              StatusIs(kResourceExhausted, HasSubstr("max_countersets")));
  v1::Definitions query;
  *query.add_queries() = definitions.queries(0);
  query.mutable_queries(0)->set_id(13);
  EXPECT_THAT(small.Apply(query),
              StatusIs(kResourceExhausted, HasSubstr("max_columns")));
  v1::Definitions instance;
  *instance.add_instances() = definitions.instances(0);
  instance.mutable_instances(0)->set_id(14);
  EXPECT_THAT(small.Apply(instance),
              StatusIs(kResourceExhausted, HasSubstr("max_instances")));
  small.Retire(4);
  EXPECT_OK(small.Apply(instance));
}

TEST_F(DictionaryTest, IgnoresRepeatedDefinitions) {
  ASSERT_OK(dictionary_.Apply(SomeDefinitions()));
  ASSERT_OK_AND_ASSIGN(const auto query, dictionary_.FindQuery(3));
  v1::Definitions again = SomeDefinitions();
  again.mutable_machines(0)->set_name("other");
  again.mutable_queries(0)->mutable_interval()->set_seconds(5);
  again.mutable_instances(0)->set_name("D:");
  ASSERT_OK(dictionary_.Apply(again));
  ASSERT_OK_AND_ASSIGN(const std::string machine, dictionary_.FindMachine(1));
  EXPECT_EQ(machine, "web-1");
  ASSERT_OK_AND_ASSIGN(const auto same, dictionary_.FindQuery(3));
  EXPECT_EQ(same, query);
  ASSERT_OK(FindInstance(dictionary_, 4));
  EXPECT_EQ(found_[0]->name, "C:");
}

TEST_F(DictionaryTest, MachinesWithTheSameRegistrationShareASchema) {
  Dictionary other(2, &schemas_, nullptr, {});
  ASSERT_OK(dictionary_.Apply(SomeDefinitions()));
  ASSERT_OK(other.Apply(SomeDefinitions()));
  ASSERT_OK_AND_ASSIGN(const auto schema, dictionary_.FindCounterset(2));
  ASSERT_OK_AND_ASSIGN(const auto same, other.FindCounterset(2));
  EXPECT_EQ(schema, same);

  // An update changed a counter's type, so the columns have another meaning.
  v1::Definitions changed;
  perflib::CountersetRegistration registration = testing::DiskRegistration();
  registration.counters[0].type = perflib::kPerfCounterCounter;
  changed.add_countersets()->set_id(5);
  *changed.mutable_countersets(0)->mutable_registration() =
      ToProto(registration);
  ASSERT_OK(other.Apply(changed));
  ASSERT_OK_AND_ASSIGN(const auto different, other.FindCounterset(5));
  EXPECT_NE(schema, different);
  EXPECT_NE(schema->hash, different->hash);
}

TEST_F(DictionaryTest, AssignsUniqueLivesAcrossEpochs) {
  v1::Definitions definitions = SomeDefinitions();
  *definitions.add_instances() = definitions.instances(0);
  definitions.mutable_instances(1)->set_id(5);
  Dictionary other(2, &schemas_, nullptr, {});
  ASSERT_OK(dictionary_.Apply(definitions));
  ASSERT_OK(other.Apply(definitions));
  std::set<uint64_t> lives;
  for (Dictionary* dictionary : {&dictionary_, &other}) {
    ASSERT_OK(dictionary->FindInstances({4, 5}, &found_));
    for (const auto& instance : found_) lives.insert(instance->life);
  }
  EXPECT_EQ(lives.size(), 4);
  EXPECT_EQ(EpochOfLife(MakeLife(2, 5)), 2);
}

// The definitions of an epoch in the store.
class StoredDefinitions : public DefinitionReader {
 public:
  absl::StatusOr<std::string> ReadDefinition(Kind kind,
                                             uint32_t id) const override {
    const v1::Definitions definitions = SomeDefinitions();
    switch (kind) {
      case Kind::kMachine:
        return Find(definitions.machines(), id);
      case Kind::kCounterset:
        return Find(definitions.countersets(), id);
      case Kind::kQuery:
        return Find(definitions.queries(), id);
      case Kind::kInstance:
        return Find(definitions.instances(), id);
    }
    return absl::NotFoundError("no such kind");
  }

 private:
  template <typename List>
  static absl::StatusOr<std::string> Find(const List& list, uint32_t id) {
    for (const auto& definition : list) {
      if (definition.id() == id) return definition.SerializeAsString();
    }
    return absl::NotFoundError("not stored");
  }
};

// A store that fails to read.
class BrokenStore : public DefinitionReader {
 public:
  absl::StatusOr<std::string> ReadDefinition(Kind, uint32_t) const override {
    return absl::UnavailableError("the disk does not answer");
  }
};

TEST_F(DictionaryTest, ReadsMissingDefinitionsFromTheStore) {
  Dictionary dictionary(1, &schemas_, std::make_unique<StoredDefinitions>(),
                        {});
  // The query also needs its machine and counterset.
  ASSERT_OK_AND_ASSIGN(const auto query, dictionary.FindQuery(3));
  EXPECT_EQ(query->machine, "web-1");
  EXPECT_EQ(query->schema->registration.name, "Disk");
  EXPECT_OK(FindInstance(dictionary, 4));
  EXPECT_THAT(FindInstance(dictionary, 9),
              StatusIs(kFailedPrecondition, "instance 9 is not defined"));
}

TEST_F(DictionaryTest, StoreFailureIsNotAnUndefinedId) {
  Dictionary dictionary(1, &schemas_, std::make_unique<BrokenStore>(), {});
  constexpr auto kUnavailable = absl::StatusCode::kUnavailable;
  EXPECT_THAT(dictionary.FindQuery(3),
              StatusIs(kUnavailable, "the disk does not answer"));
  EXPECT_THAT(FindInstance(dictionary, 4),
              StatusIs(kUnavailable, "the disk does not answer"));
}

TEST_F(DictionaryTest, ForgetsRetiredInstancesUnlessStored) {
  ASSERT_OK(dictionary_.Apply(SomeDefinitions()));
  dictionary_.Retire(4);
  dictionary_.Retire(4);
  EXPECT_EQ(dictionary_.instances(), 0);
  EXPECT_THAT(FindInstance(dictionary_, 4),
              StatusIs(kFailedPrecondition, "instance 4 is not defined"));

  Dictionary stored(1, &schemas_, std::make_unique<StoredDefinitions>(), {});
  ASSERT_OK(stored.Apply(SomeDefinitions()));
  stored.Retire(4);
  ASSERT_OK(FindInstance(stored, 4));
  EXPECT_EQ(found_[0]->life, MakeLife(1, 4));
}

// Returns the number of definitions in `definitions`.
int Count(const v1::Definitions& definitions) {
  return definitions.machines_size() + definitions.countersets_size() +
         definitions.queries_size() + definitions.instances_size();
}

TEST_F(DictionaryTest, LetsDefinitionsBeRepeated) {
  v1::Definitions definitions = SomeDefinitions();
  EXPECT_OK(dictionary_.RemoveChanged(&definitions));
  ASSERT_OK(dictionary_.Apply(definitions));
  EXPECT_OK(dictionary_.RemoveChanged(&definitions));
  EXPECT_EQ(Count(definitions), Count(SomeDefinitions()));

  Dictionary stored(1, &schemas_, std::make_unique<StoredDefinitions>(), {});
  v1::InstanceDefinition& added = *definitions.add_instances();
  added = definitions.instances(0);
  added.set_id(99);
  EXPECT_OK(stored.RemoveChanged(&definitions));
  EXPECT_EQ(Count(definitions), Count(SomeDefinitions()) + 1);
  EXPECT_EQ(stored.instances(), 0);
}

TEST_F(DictionaryTest, RefusesToDefineAnIdDifferently) {
  const std::vector<std::function<void(v1::Definitions*)>> kEdits = {
      [](auto* all) { all->mutable_machines(0)->set_name("web-2"); },
      [](auto* all) {
        all->mutable_countersets(0)->mutable_registration()->set_name("Tape");
      },
      [](auto* all) {
        all->mutable_queries(0)->mutable_interval()->set_seconds(77);
      },
      [](auto* all) { all->mutable_instances(0)->set_name("other"); }};
  ASSERT_OK(dictionary_.Apply(SomeDefinitions()));
  for (const auto& edit : kEdits) {
    v1::Definitions in_memory = SomeDefinitions();
    edit(&in_memory);
    EXPECT_THAT(dictionary_.RemoveChanged(&in_memory),
                StatusIs(kInvalidArgument, HasSubstr("stays in force")));
    EXPECT_EQ(Count(in_memory), Count(SomeDefinitions()) - 1);

    Dictionary stored(1, &schemas_, std::make_unique<StoredDefinitions>(), {});
    v1::Definitions in_store = SomeDefinitions();
    edit(&in_store);
    EXPECT_THAT(stored.RemoveChanged(&in_store),
                StatusIs(kInvalidArgument, HasSubstr("stays in force")));
    EXPECT_EQ(Count(in_store), Count(SomeDefinitions()) - 1);
  }
  // Twice in one message.
  Dictionary empty(1, &schemas_, nullptr, {});
  v1::Definitions twice = SomeDefinitions();
  *twice.add_machines() = twice.machines(0);
  EXPECT_THAT(empty.RemoveChanged(&twice),
              StatusIs(kInvalidArgument, HasSubstr("stays in force")));
  EXPECT_EQ(Count(twice), Count(SomeDefinitions()));
}

}  // namespace
}  // namespace fleetperf::aggregator
