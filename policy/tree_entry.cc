// SPDX-License-Identifier: Apache-2.0
#include "policy/tree_entry.h"

namespace bailiff::policy {
namespace {

void AppendBig(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift & 0xFF);
}

}  // namespace

std::optional<EntryKind> ParseEntryKind(std::uint32_t byte) {
  for (const EntryKind kind : {EntryKind::kFile, EntryKind::kExecutable, EntryKind::kLink}) {
    if (byte == static_cast<unsigned char>(kind)) return kind;
  }
  return std::nullopt;
}

std::string_view EntryKindName(EntryKind kind) {
  switch (kind) {
    case EntryKind::kFile:
      return "file";
    case EntryKind::kExecutable:
      return "executable";
    case EntryKind::kLink:
      return "link";
  }
  return "";
}

void AppendTreeEntry(std::string& out, EntryKind kind, std::uint64_t size, const Digest& blob,
                     std::string_view path) {
  out += static_cast<char>(kind);
  AppendBig(out, size, 8);
  out += blob.raw();
  AppendBig(out, path.size(), 2);
  out += path;
}

}  // namespace bailiff::policy
