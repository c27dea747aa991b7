// SPDX-License-Identifier: Apache-2.0
// Reading one document against its schema: every fault is collected with the place it is at, so
// that a person mends a file once (contracts, section 1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/result.h"
#include "policy/digest.h"
#include "policy/value.h"

namespace bailiff::policy {

struct Fault {
  std::string pointer;  // JSON Pointer (RFC 6901) of the value at fault; "" is the document
  Error error;          // code, what it is on, why, fix
};

class Faults {
 public:
  // Keeps the first kMax; a document cannot make us hold more.
  static constexpr std::size_t kMax = 64;

  void Add(std::string_view pointer, ErrorCode code, std::string subject, std::string why,
           std::string fix = {});
  bool empty() const { return list_.empty(); }
  std::size_t size() const { return list_.size(); }
  bool cut() const { return cut_; }  // there were more
  const std::vector<Fault>& list() const { return list_; }
  // The first fault as an error, its pointer named in `why`. Only when not empty().
  Error ToError() const;

 private:
  std::vector<Fault> list_;
  bool cut_ = false;
};

// `pointer` + "/" + token, escaped by RFC 6901.
std::string Child(std::string_view pointer, std::string_view token);
std::string Child(std::string_view pointer, std::size_t index);

// "<subject>: must be <wanted>, is <kind of found>".
void AddTypeFault(Faults& faults, std::string_view pointer, std::string_view subject,
                  std::string_view wanted, const Value& found);

// The members of one object. Each read names the member; what was never read is unknown. A member
// that is missing or of another type is a fault and the read gives nothing.
class Members {
 public:
  // `value` and `faults` must outlive this. A value that is no object is a fault; then every read
  // gives nothing and adds no further fault.
  Members(const Value& value, std::string_view pointer, Faults& faults);

  bool valid() const { return object_ != nullptr; }
  const std::string& pointer() const { return pointer_; }

  // The member, or null; a missing one is a fault.
  const Value* Required(std::string_view name);
  // The member, or null.
  const Value* Optional(std::string_view name);
  std::optional<std::string> String(std::string_view name);
  // An integer >= 0.
  std::optional<std::uint64_t> Number(std::string_view name);
  // An integer of either sign.
  std::optional<std::int64_t> Integer(std::string_view name);
  std::optional<bool> Boolean(std::string_view name);
  // 64 lower-case hex digits.
  std::optional<Digest> Hash(std::string_view name);
  const Value::Array* List(std::string_view name);
  // True when the member is there; for those that may be absent.
  bool Has(std::string_view name) const;

  // Every member that was never asked for is a fault. Call once, last.
  void Finish();

 private:
  const Value* Peek(std::string_view name) const;
  void WrongType(std::string_view name, std::string_view wanted, const Value& found);

  const Value::Object* object_;
  std::string pointer_;
  Faults& faults_;
  std::vector<std::string_view> known_;
};

}  // namespace bailiff::policy
