// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/custody.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <array>

#include "ipc/fd.h"
#include "policy/digest.h"
#include "policy/jcs.h"

namespace bailiff::controller {
namespace {

using policy::Value;

Value ProcessValue(const ProcessIdentity& process) {
  Value value = Value::MakeObject();
  value.Set("pid", process.pid);
  value.Set("start_ticks", process.start_ticks);
  return value;
}

// Reads members and counts them: an object with one more than was asked for is not ours.
class Reader {
 public:
  explicit Reader(const Value& value) : value_(value) {}
  const Value* Find(const char* name) {
    const Value* member = value_.Find(name);
    if (member != nullptr) ++read_;
    return member;
  }
  std::string Text(const char* name) {
    const Value* member = Find(name);
    const std::string* text = member == nullptr ? nullptr : member->string();
    ok_ = ok_ && text != nullptr;
    return text == nullptr ? "" : *text;
  }
  std::uint64_t Number(const char* name) {
    const Value* member = Find(name);
    const std::int64_t* number = member == nullptr ? nullptr : member->integer();
    ok_ = ok_ && number != nullptr && *number >= 0;
    return number == nullptr ? 0 : static_cast<std::uint64_t>(*number);
  }
  bool Complete() const {
    return ok_ && value_.object() != nullptr && value_.object()->size() == read_;
  }

 private:
  const Value& value_;
  std::size_t read_ = 0;
  bool ok_ = true;
};

std::optional<ProcessIdentity> ReadProcess(const Value& value, bool& ok) {
  Reader reader(value);
  const ProcessIdentity process{static_cast<pid_t>(reader.Number("pid")),
                                reader.Number("start_ticks")};
  ok = ok && reader.Complete();
  return process;
}

Result<std::uint64_t> NamespaceInode(const char* path) {
  struct stat status {};
  if (stat(path, &status) != 0) return SystemError("stat", path);
  return std::uint64_t{status.st_ino};
}

}  // namespace

Value CustodyValue(const Custody& custody) {
  Value parent = Value::MakeObject();
  parent.Set("device", custody.parent_device);
  parent.Set("inode", custody.parent_inode);
  Value cgroups = Value::MakeArray();
  for (const CgroupPlace& place : custody.cgroups) {
    Value item = Value::MakeObject();
    item.Set("controller", place.controller);
    item.Set("path", place.path);
    item.Set("inode", place.inode);
    cgroups.Append(std::move(item));
  }
  Value value = Value::MakeObject();
  value.Set("version", 1);
  value.Set("backend", "native");
  value.Set("label", custody.label);
  value.Set("nonce", custody.nonce);
  value.Set("machine_id", custody.machine_id);
  value.Set("boot_id", custody.boot_id);
  value.Set("pid_ns", custody.pid_namespace);
  value.Set("cgroup_ns", custody.cgroup_namespace);
  value.Set("cgroup_parent", std::move(parent));
  value.Set("cgroups", std::move(cgroups));
  if (custody.warden) value.Set("warden", ProcessValue(*custody.warden));
  if (custody.candidate) value.Set("candidate", ProcessValue(*custody.candidate));
  value.Set("created", custody.created ? "confirmed" : "unknown");
  return value;
}

Result<std::string> EncodeCustody(const Custody& custody) {
  return policy::Canonical(CustodyValue(custody));
}

Result<Custody> ParseCustody(const std::string& json) {
  const Error malformed{ErrorCode::kCustodyMalformed,
                        "custody",
                        "it is not a custody document of this version",
                        0,
                        {}};
  auto value = policy::ParseCanonical(json);
  if (!value.ok() || value->object() == nullptr) return malformed;
  Reader reader(*value);
  bool ok = reader.Number("version") == 1 && reader.Text("backend") == "native";
  Custody custody;
  custody.label = reader.Text("label");
  custody.nonce = reader.Text("nonce");
  custody.machine_id = reader.Text("machine_id");
  custody.boot_id = reader.Text("boot_id");
  custody.pid_namespace = reader.Number("pid_ns");
  custody.cgroup_namespace = reader.Number("cgroup_ns");
  const std::string created = reader.Text("created");
  custody.created = created == "confirmed";
  ok = ok && (custody.created || created == "unknown");
  if (const Value* parent = reader.Find("cgroup_parent"); parent != nullptr) {
    Reader inner(*parent);
    custody.parent_device = inner.Number("device");
    custody.parent_inode = inner.Number("inode");
    ok = ok && inner.Complete();
  } else {
    ok = false;
  }
  const Value* cgroups = reader.Find("cgroups");
  if (cgroups == nullptr || cgroups->array() == nullptr) return malformed;
  for (const Value& item : *cgroups->array()) {
    Reader inner(item);
    custody.cgroups.push_back(
        {inner.Text("controller"), inner.Text("path"), inner.Number("inode")});
    ok = ok && inner.Complete();
  }
  if (const Value* warden = reader.Find("warden"); warden != nullptr)
    custody.warden = ReadProcess(*warden, ok);
  if (const Value* candidate = reader.Find("candidate"); candidate != nullptr)
    custody.candidate = ReadProcess(*candidate, ok);
  if (!ok || !reader.Complete()) return malformed;
  return custody;
}

Result<HostInstance> ReadHostInstance(const HostMode& mode) {
  HostInstance instance;
  instance.machine_id = mode.machine_id;
  BAILIFF_TRY_ASSIGN(instance.boot_id,
                     ipc::ReadFileAt(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64));
  while (!instance.boot_id.empty() && instance.boot_id.back() == '\n') instance.boot_id.pop_back();
  BAILIFF_TRY_ASSIGN(instance.pid_namespace, NamespaceInode("/proc/self/ns/pid"));
  BAILIFF_TRY_ASSIGN(instance.cgroup_namespace, NamespaceInode("/proc/self/ns/cgroup"));
  return instance;
}

Result<std::string> MakeNonce() {
  std::array<char, 16> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return SystemError("getrandom", "nonce");
  return policy::Hex({bytes.data(), bytes.size()});
}

}  // namespace bailiff::controller
