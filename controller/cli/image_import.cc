// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/cli/escape.h"
#include "controller/cli/jobs.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"
#include "policy/environment.h"
#include "policy/image_facts.h"

namespace bailiff::controller::cli {
namespace {

// An archive that comes through a pipe is put into a file without a name first: the helper wants to
// hash and unpack a regular file. Bounded by what an image may hold (contracts, section 2).
Result<ipc::Fd> Spool(const HostMode& host, const ipc::Fd& from, const Interrupts& interrupts) {
  constexpr std::uint64_t kMost = 4ULL << 30;
  BAILIFF_TRY_ASSIGN(ipc::Fd file,
                     ipc::OpenAt(host.data.get(), "staging", O_TMPFILE | O_RDWR, 0600));
  std::string buffer(std::size_t{1} << 16, '\0');
  std::uint64_t size = 0;
  while (true) {
    if (interrupts.Pending()) return Error{ErrorCode::kCancelled, "image import", {}, 0, {}};
    const ssize_t got = read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", "standard input");
    if (got == 0) break;
    size += static_cast<std::uint64_t>(got);
    if (size > kMost)
      return Error{ErrorCode::kFileTooLarge, "standard input", "more than 4 GiB", 0, {}};
    BAILIFF_TRY(ipc::WriteAll(
        file.get(), std::string_view(buffer.data(), static_cast<std::size_t>(got)), "staging"));
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0) return SystemError("lseek", "staging");
  return file;
}

bool IsRegular(const ipc::Fd& fd) {
  struct stat status {};
  return fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode);
}

// JCS: an array of texts without anything to escape.
std::string DiffIds(const std::vector<policy::Digest>& diff_ids) {
  std::string json = "[";
  for (const policy::Digest& diff_id : diff_ids)
    json.append(json.size() == 1 ? "" : ",").append("\"sha256:").append(diff_id.hex()).append("\"");
  return json + "]";
}

// What a run with the recipe's defaults would be rejected for is said when the image comes in.
void NoteFacts(Output& output, const policy::ImageFacts& facts) {
  if (const auto why = policy::ImageRefusal(facts, policy::EffectiveEnvironment({}))) {
    output.Note("bailiff: as it is, no check can run on it: " + EscapeName(*why));
  }
}

}  // namespace

Result<int> ImageImport(Context& context) {
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const Interrupts interrupts, Interrupts::Block());
  BAILIFF_TRY_ASSIGN(const JobSlot slot,
                     JobSlot::Acquire(*context.host, OwnersLock::Contents::kImages));
  ipc::Fd archive = std::move(context.command.opened[0].fd);
  ImageSource source;
  if (const std::string* format = context.command.Get("format")) {
    // The parser of the command line lets no other word through.
    source.format = policy::ImageFormatNamed(*format).value_or(policy::ImageFormat::kFound);
  }
  if (!context.host->operands.empty()) {
    source.directory = context.host->operands[0].get();
  } else if (!IsRegular(archive)) {
    BAILIFF_TRY_ASSIGN(archive, Spool(*context.host, archive, interrupts));
  }
  if (source.directory < 0) source.file = archive.get();
  ProgressLine line(context.output.shows_progress());
  BAILIFF_TRY_ASSIGN(const ImageInfo info,
                     ImportImage(slot.jobs(), source, HooksFor(line, interrupts, "importing")));
  line.Clear();
  NoteWarnings(context.output, info.warnings);
  NoteFacts(context.output, info.record.facts);
  const std::string* given = context.command.Get("name");
  const std::string name = given == nullptr ? "" : *given;
  ImageRow row;
  row.image = "sha256:" + info.image.hex();
  row.tree = info.record.tree.hex();
  row.config = info.config;
  row.diff_ids = DiffIds(info.diff_ids);
  row.entries = static_cast<std::int64_t>(info.record.entries);
  row.bytes = static_cast<std::int64_t>(info.record.bytes);
  row.source_sha256 = info.source.hex();
  BAILIFF_TRY(store.InsertImage(row, name));
  context.output.Line("image     " + row.image + (info.existed ? "  (was there already)" : ""));
  if (!name.empty()) context.output.Line("name      " + EscapeName(name));
  context.output.Line("layers    " + ShowCount(info.diff_ids.size()));
  context.output.Line("entries   " + ShowCount(info.record.entries) + ", " +
                      ShowBytes(info.record.bytes));
  JsonWriter json("image.import");
  json.Member("image", row.image).Member("existed", info.existed);
  if (!name.empty()) json.Member("name", name);
  json.Member("tree", row.tree)
      .Raw("diff_ids", row.diff_ids)
      .Member("entries", info.record.entries)
      .Member("bytes", info.record.bytes)
      .Member("source_sha256", row.source_sha256);
  json.BeginArray("environment");
  for (const std::string& entry : info.record.facts.environment) json.Element(entry);
  json.End()
      .Member("volumes", info.record.facts.volumes)
      .Member("health_command", info.record.facts.health_command);
  AddWarnings(json, info.warnings);
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
