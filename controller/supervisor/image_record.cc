// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/image_record.h"

#include <fcntl.h>

#include <utility>

#include "ipc/fd.h"
#include "policy/document.h"
#include "policy/jcs.h"
#include "policy/json.h"

namespace bailiff::controller {
namespace {

using policy::Faults;
using policy::Members;
using policy::Value;

constexpr std::string_view kSchema = "bailiff/image/v1";
// 64 entries of 32 KiB in all, each byte escaped, and the rest.
constexpr std::size_t kMaxRecord = 256 * 1024;

Error Damaged(const std::string& name, std::string why) {
  return {
      ErrorCode::kImageRecord, "image " + name, "its file \"complete\" is damaged: " + why, 0, {}};
}

}  // namespace

Result<std::string> EncodeImageRecord(const ImageRecord& record) {
  Value environment = Value::MakeArray();
  for (const std::string& entry : record.facts.environment) environment.Append(Value(entry));
  Value document = Value::MakeObject();
  document.Set("bytes", record.bytes)
      .Set("entries", record.entries)
      .Set("environment", std::move(environment))
      .Set("health_command", record.facts.health_command)
      .Set("schema", kSchema)
      .Set("tree", record.tree)
      .Set("volumes", record.facts.volumes);
  return policy::Canonical(document);
}

Result<ImageRecord> ParseImageRecord(std::string_view bytes, const std::string& name) {
  Faults faults;
  const auto document = policy::ParseJson(bytes, faults);
  if (!document) return Damaged(name, faults.ToError().why);
  ImageRecord record;
  Members members(*document, "", faults);
  record.bytes = members.Number("bytes").value_or(0);
  record.entries = members.Number("entries").value_or(0);
  if (const Value::Array* environment = members.List("environment")) {
    for (const Value& entry : *environment) {
      if (entry.string() == nullptr) return Damaged(name, "environment");
      record.facts.environment.push_back(*entry.string());
    }
  }
  record.facts.health_command = members.Boolean("health_command").value_or(true);
  if (members.String("schema") != kSchema) return Damaged(name, "schema");
  record.tree = members.Hash("tree").value_or(policy::Digest());
  record.facts.volumes = members.Boolean("volumes").value_or(true);
  members.Finish();
  if (!faults.empty()) return Damaged(name, faults.ToError().why);
  return record;
}

Result<ImageRecord> ReadImageRecord(int data, const std::string& name) {
  BAILIFF_TRY_ASSIGN(const ipc::Fd image,
                     ipc::OpenBeneath(data, ("images/" + name).c_str(), O_PATH | O_DIRECTORY));
  BAILIFF_TRY_ASSIGN(const std::string text, ipc::ReadFileAt(image.get(), "complete", kMaxRecord));
  return ParseImageRecord(text, name);
}

}  // namespace bailiff::controller
