// SPDX-License-Identifier: Apache-2.0
// An archive of an image, from whoever made it: which files it is made of, and whether they are
// what they are named. The first byte says which documents are read, whether headers get the
// checksum they should have, and whether the files lie in a directory instead.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "ipc/fd.h"
#include "snapshotter/importer/image_plan.h"
#include "tests/fuzz/silent_reporter.h"

namespace {

namespace s = bailiff::snapshotter;
using bailiff::ipc::Fd;

void MendChecksums(std::string& bytes) {
  for (std::size_t at = 0; at + 512 <= bytes.size(); at += 512) {
    if (bytes.compare(at + 257, 5, "ustar") != 0) continue;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at) + 148, 8, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(bytes[at + i]);
    for (std::size_t i = 0; i < 6; ++i) {
      bytes[at + 148 + 5 - i] = static_cast<char>('0' + (sum & 7));
      sum >>= 3;
    }
    bytes[at + 154] = '\0';
  }
}

// A directory that holds a link, a FIFO and a directory under the names an image may ask for.
struct OddDirectory {
  OddDirectory() {
    std::string made = std::filesystem::temp_directory_path() / "bailiff-fuzz-XXXXXX";
    if (mkdtemp(made.data()) == nullptr) std::abort();
    path = made;
    std::filesystem::create_directories(path + "/blobs/sha256");
    if (symlink("/etc/passwd", (path + "/manifest.json").c_str()) != 0 ||
        mkfifo((path + "/oci-layout").c_str(), 0600) != 0)
      std::abort();
  }
  OddDirectory(const OddDirectory&) = delete;
  OddDirectory& operator=(const OddDirectory&) = delete;
  ~OddDirectory() { std::filesystem::remove_all(path); }
  std::string path;
};

void FromDirectory(std::string_view bytes) {
  const OddDirectory odd;
  const Fd directory(open(odd.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto files = s::ImageFiles::OfDirectory(directory.get());
  const Fd index(
      openat(directory.get(), "index.json", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!bailiff::ipc::WriteAll(index.get(), bytes, "index.json").ok()) std::abort();
  for (const char* name :
       {"manifest.json", "oci-layout", "blobs", "blobs/sha256/x", "index.json/x"}) {
    if (files.Find(name).ok()) std::abort();
  }
  if (const auto read = files.Read("index.json"); read.ok() && *read != bytes) std::abort();
  static_cast<void>(files.Holds("index.json"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 8) != 0) {
    FromDirectory(bytes);
    return 0;
  }
  if ((data[0] & 4) != 0) MendChecksums(bytes);
  Fd file(memfd_create("archive", MFD_CLOEXEC));
  if (!bailiff::ipc::WriteAll(file.get(), bytes, "archive").ok()) return 0;
  bailiff::fuzz::SilentReporter reporter;
  s::PlainSource source({file.get(), 0, bytes.size()});
  auto files = s::ImageFiles::OfTar(source, reporter);
  if (!files.ok()) return 0;
  files->LieIn(std::move(file));
  const auto oci = s::PlanOci(*files);
  const auto docker = s::PlanDocker(*files);
  if (oci.ok() && docker.ok()) static_cast<void>(s::CheckAgreement(*oci, *docker));
  for (const auto* plan : {&oci, &docker}) {
    if (!plan->ok()) continue;
    for (const s::ImageLayer& layer : (*plan)->layers) {
      if (layer.file.part.offset + layer.file.part.size > bytes.size()) std::abort();
    }
    if (bailiff::policy::Hash((*plan)->config) != (*plan)->image) std::abort();
    static_cast<void>(s::VerifyLayers(**plan, reporter));
  }
  return 0;
}
