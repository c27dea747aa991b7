// SPDX-License-Identifier: Apache-2.0
#include "controller/store/fault_vfs.h"

#ifdef BAILIFF_TESTING

#include <sqlite3.h>

#include <cerrno>
#include <new>

#include "ipc/fault.h"

namespace bailiff::controller {
namespace {

// SQLite allocates szOsFile bytes: this object, then the file of the layer below.
struct FaultFile {
  sqlite3_file base;
};

sqlite3_file* Below(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<FaultFile*>(file) + 1);
}
const sqlite3_io_methods& Methods(sqlite3_file* file) { return *Below(file)->pMethods; }

int Close(sqlite3_file* file) { return Methods(file).xClose(Below(file)); }
int ReadBytes(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
  return Methods(file).xRead(Below(file), bytes, size, offset);
}
int WriteBytes(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  if (const int error = BAILIFF_FAULT(StoreFileWrite))
    return error == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  return Methods(file).xWrite(Below(file), bytes, size, offset);
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  return Methods(file).xTruncate(Below(file), size);
}
int Sync(sqlite3_file* file, int flags) {
  if (BAILIFF_FAULT(StoreFileSync) != 0) return SQLITE_IOERR_FSYNC;
  return Methods(file).xSync(Below(file), flags);
}
int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return Methods(file).xFileSize(Below(file), size);
}
int Lock(sqlite3_file* file, int level) { return Methods(file).xLock(Below(file), level); }
int Unlock(sqlite3_file* file, int level) { return Methods(file).xUnlock(Below(file), level); }
int CheckReserved(sqlite3_file* file, int* reserved) {
  return Methods(file).xCheckReservedLock(Below(file), reserved);
}
int Control(sqlite3_file* file, int operation, void* argument) {
  return Methods(file).xFileControl(Below(file), operation, argument);
}
int SectorSize(sqlite3_file* file) { return Methods(file).xSectorSize(Below(file)); }
int Characteristics(sqlite3_file* file) {
  return Methods(file).xDeviceCharacteristics(Below(file));
}
int ShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** memory) {
  return Methods(file).xShmMap(Below(file), page, size, extend, memory);
}
int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  return Methods(file).xShmLock(Below(file), offset, count, flags);
}
void ShmBarrier(sqlite3_file* file) { Methods(file).xShmBarrier(Below(file)); }
int ShmUnmap(sqlite3_file* file, int remove) {
  return Methods(file).xShmUnmap(Below(file), remove);
}

// Version 2: with shared memory, without memory-mapped pages (which we do not use).
constexpr sqlite3_io_methods kMethods = {
    2,        Close,         ReadBytes, WriteBytes, Truncate,        Sync,   FileSize, Lock,
    Unlock,   CheckReserved, Control,   SectorSize, Characteristics, ShmMap, ShmLock,  ShmBarrier,
    ShmUnmap, nullptr,       nullptr};

sqlite3_vfs* below = nullptr;

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
  auto* fault = new (file) FaultFile{};
  const int result = below->xOpen(below, name, Below(file), flags, out);
  // SQLite calls xClose exactly when pMethods is set, also after a failed open.
  if (Below(file)->pMethods != nullptr) fault->base.pMethods = &kMethods;
  return result;
}

}  // namespace

void RegisterFaultVfs() {
  if (below != nullptr) return;
  below = sqlite3_vfs_find(nullptr);
  // A copy: the other calls of the layer below read only what is copied with it.
  static sqlite3_vfs vfs;
  vfs = *below;
  vfs.zName = kFaultVfs;
  vfs.szOsFile = static_cast<int>(sizeof(FaultFile)) + below->szOsFile;
  vfs.xOpen = Open;
  sqlite3_vfs_register(&vfs, 0);
}

}  // namespace bailiff::controller

#endif
