// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/archive_writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <cerrno>

#include "ipc/fault.h"
#include "ipc/fd.h"

namespace bailiff::controller {
namespace {

constexpr int kBlock = 64 * 1024;

}  // namespace

ArchiveWriter::ArchiveWriter(int file, uid_t uid, gid_t gid)
    : file_(file), uid_(uid), gid_(gid), writer_(archive_write_new()) {}

ArchiveWriter::~ArchiveWriter() {
  if (writer_ != nullptr) archive_write_free(writer_);
}

Error ArchiveWriter::Failed(const std::string& path) const {
  const int error = archive_errno(writer_);
  Error failed = SystemError("write", path, error > 0 ? error : EIO);
  if (const char* why = archive_error_string(writer_); why != nullptr)
    failed.why += std::string(" (") + why + ")";
  return failed;
}

long ArchiveWriter::WriteFile(archive* writer, void* self, const void* data, std::size_t size) {
  auto* archive = static_cast<ArchiveWriter*>(self);
  if (const int error = BAILIFF_FAULT(BackupWrite)) {
    archive_set_error(writer, error, "injected");
    return -1;
  }
  const std::string_view bytes(static_cast<const char*>(data), size);
  if (const auto written = ipc::WriteAll(archive->file_, bytes, "backup"); !written.ok()) {
    archive_set_error(writer, written.error().system_error, "backup");
    return -1;
  }
  archive->sha_.Update(bytes);
  archive->bytes_ += size;
  return static_cast<long>(size);
}

Result<std::unique_ptr<ArchiveWriter>> ArchiveWriter::Open(int file, uid_t uid, gid_t gid) {
  std::unique_ptr<ArchiveWriter> writer(new ArchiveWriter(file, uid, gid));
  archive* made = writer->writer_;
  if (made == nullptr) return SystemError("archive_write_new", "backup", ENOMEM);
  if (archive_write_set_format_gnutar(made) != ARCHIVE_OK ||
      archive_write_set_bytes_per_block(made, kBlock) != ARCHIVE_OK ||
      archive_write_open(made, writer.get(), nullptr, WriteFile, nullptr) != ARCHIVE_OK)
    return writer->Failed("backup");
  return writer;
}

Result<void> ArchiveWriter::Header(const std::string& path, const struct stat& status,
                                   const char* link, const char* hard_link) {
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  if (entry == nullptr) return SystemError("archive_entry_new", path, ENOMEM);
  archive_entry_set_pathname(entry.get(), path.c_str());
  archive_entry_set_mode(entry.get(), status.st_mode);
  archive_entry_set_mtime(entry.get(), status.st_mtim.tv_sec, 0);
  archive_entry_set_uid(entry.get(), uid_);
  archive_entry_set_gid(entry.get(), gid_);
  archive_entry_set_size(entry.get(),
                         S_ISREG(status.st_mode) && hard_link == nullptr ? status.st_size : 0);
  if (link != nullptr) archive_entry_set_symlink(entry.get(), link);
  if (hard_link != nullptr) archive_entry_set_hardlink(entry.get(), hard_link);
  // A warning is about names in other character sets: the bytes are written as they are.
  if (archive_write_header(writer_, entry.get()) < ARCHIVE_WARN) return Failed(path);
  return {};
}

Result<void> ArchiveWriter::Directory(const std::string& path, const struct stat& status) {
  return Header(path + "/", status, nullptr, nullptr);
}

Result<void> ArchiveWriter::Fifo(const std::string& path, const struct stat& status) {
  return Header(path, status, nullptr, nullptr);
}

Result<void> ArchiveWriter::Link(const std::string& path, const struct stat& status,
                                 const std::string& target) {
  return Header(path, status, target.c_str(), nullptr);
}

Result<void> ArchiveWriter::HardLink(const std::string& path, const struct stat& status,
                                     const std::string& first) {
  return Header(path, status, nullptr, first.c_str());
}

Result<void> ArchiveWriter::File(const std::string& path, const struct stat& status) {
  return Header(path, status, nullptr, nullptr);
}

Result<void> ArchiveWriter::Data(std::string_view bytes) {
  if (archive_write_data(writer_, bytes.data(), bytes.size()) !=
      static_cast<la_ssize_t>(bytes.size()))
    return Failed("backup");
  return {};
}

Result<void> ArchiveWriter::Text(const std::string& path, mode_t mode, std::string_view bytes) {
  struct stat status {};
  status.st_mode = S_IFREG | mode;
  status.st_size = static_cast<off_t>(bytes.size());
  BAILIFF_TRY(File(path, status));
  return Data(bytes);
}

Result<void> ArchiveWriter::Finish() {
  if (archive_write_close(writer_) != ARCHIVE_OK) return Failed("backup");
  return {};
}

}  // namespace bailiff::controller
