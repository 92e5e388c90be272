// Checks that texts can be sent in every message.

#ifndef FLEETPERF_TESTS_FUZZ_EVERY_MESSAGE_H_
#define FLEETPERF_TESTS_FUZZ_EVERY_MESSAGE_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/check.h"

namespace fleetperf {

// Checks that a receiver gets the message as it was sent.
inline void CheckArrives(const google::protobuf::Message& message) {
  std::string bytes;
  FUZZ_CHECK(message.SerializeToString(&bytes));
  const std::unique_ptr<google::protobuf::Message> received(message.New());
  FUZZ_CHECK(received->ParseFromString(bytes));
  // Bytes may differ: those of maps have no order.
  FUZZ_CHECK(
      google::protobuf::util::MessageDifferencer::Equals(*received, message));
}

// Sets every field of the message that is a text, or a list of them. A map's
// entries are messages of their own.
inline void SetTexts(const std::string& text,
                     google::protobuf::Message* message) {
  using google::protobuf::FieldDescriptor;
  const auto* const descriptor = message->GetDescriptor();
  const auto* const reflection = message->GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* const field = descriptor->field(i);
    if (field->is_map()) {
      SetTexts(text, reflection->AddMessage(message, field));
    } else if (field->type() != FieldDescriptor::TYPE_STRING) {
      continue;
    } else if (field->is_repeated()) {
      reflection->AddString(message, field, text);
    } else {
      reflection->SetString(message, field, text);
    }
  }
}

// Adds the messages of a file that have texts, also nested ones.
inline void AddMessages(const google::protobuf::Descriptor* descriptor,
                        std::vector<const google::protobuf::Message*>* all) {
  for (int i = 0; i < descriptor->nested_type_count(); ++i) {
    AddMessages(descriptor->nested_type(i), all);
  }
  if (descriptor->options().map_entry()) return;
  all->push_back(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(
          descriptor));
}

// Checks that every message of `files`, which must be the same in each call,
// can be sent with these texts.
inline void CheckArriveInEveryMessage(
    const std::vector<std::string>& texts,
    const std::vector<const google::protobuf::FileDescriptor*>& files) {
  static const auto* const messages = [&] {
    auto* const all = new std::vector<const google::protobuf::Message*>;
    for (const auto* const file : files) {
      for (int i = 0; i < file->message_type_count(); ++i) {
        AddMessages(file->message_type(i), all);
      }
    }
    return all;
  }();
  for (const std::string& text : texts) {
    for (const google::protobuf::Message* const prototype : *messages) {
      const std::unique_ptr<google::protobuf::Message> message(
          prototype->New());
      SetTexts(text, message.get());
      CheckArrives(*message);
    }
  }
}

}  // namespace fleetperf

#endif  // FLEETPERF_TESTS_FUZZ_EVERY_MESSAGE_H_
