// SPDX-License-Identifier: Apache-2.0
// Layers over layers in a real directory. The input is a list of entries in a few bytes each, with
// names put together from the words that matter, so that entries meet; what is around the root must
// stay as it is.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "ipc/fd.h"
#include "policy/ustar.h"
#include "snapshotter/importer/image.h"
#include "tests/fuzz/silent_reporter.h"

namespace {

namespace s = bailiff::snapshotter;
using bailiff::ipc::Fd;

constexpr std::array<std::string_view, 16> kWords = {
    "a",   "b",    "c",   "/",  "/", "..",   ".",        ".wh.", ".wh..wh..opq",
    "dev", "\xff", "a/b", "./", "d", "proc", "../around"};
constexpr std::string_view kTypes = "001122553670";

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  uint8_t Take() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  // A length, then a word for each half byte.
  std::string Name() {
    const unsigned count = Take() % 8U;
    std::string name;
    for (unsigned i = 0; i < count; ++i) {
      const uint8_t byte = Take();
      name += kWords[byte % kWords.size()];
      if ((byte & 0x80) != 0) name += "/";
    }
    return name.substr(0, bailiff::policy::kMaxTarName);
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

class Text final : public s::ByteSource {
 public:
  explicit Text(std::string bytes) : bytes_(std::move(bytes)) {}
  bailiff::Result<std::size_t> Read(char* buffer, std::size_t size) override {
    const std::size_t count = bytes_.copy(buffer, size, at_);
    at_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

void AddEntry(std::string& tar, Bytes& bytes) {
  const uint8_t kind = bytes.Take();
  const std::string name = bytes.Name();
  const char type = kTypes[kind % kTypes.size()];
  std::string link;
  if (type == '1' || type == '2') link = bytes.Name();
  const std::uint64_t size = type == '0' && (kind & 0x40) != 0 ? 3 : 0;
  const auto header =
      bailiff::policy::TarHeader({name, type, (kind & 0x80) != 0 ? 07777U : 0644U, size, link});
  tar.append(header.data(), header.size());
  if (size != 0) tar.append("xyz").append(509, '\0');
}

struct World {
  World() {
    std::string made = std::filesystem::temp_directory_path() / "bailiff-fuzz-XXXXXX";
    if (mkdtemp(made.data()) == nullptr) std::abort();
    top = made;
    std::filesystem::create_directory(top + "/root");
    std::filesystem::create_directory(top + "/around");
    const Fd file(open((top + "/around/f").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!bailiff::ipc::WriteAll(file.get(), "canary", "f").ok()) std::abort();
  }
  ~World() {
    // What an importer leaves may be kept from being listed by its modes alone, and those it sets
    // itself.
    struct stat canary;
    if (stat((top + "/around/f").c_str(), &canary) != 0 || canary.st_nlink != 1 ||
        canary.st_size != 6 || (canary.st_mode & 07777) != 0600)
      std::abort();
    std::size_t around = 0;
    for (const auto& entry : std::filesystem::directory_iterator(top))
      around += entry.exists() ? 1U : 0U;
    if (around != 2) std::abort();
    std::filesystem::remove_all(top);
  }
  std::string top;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 512) return 0;
  Bytes bytes(data, size);
  umask(0);
  const World world;
  const Fd root(open((world.top + "/root").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  bailiff::fuzz::SilentReporter reporter;
  s::Unpacker unpacker(root.get(), reporter);
  const bool layers = (bytes.Take() & 1) == 0;
  for (int layer = 0; layer < 4 && !bytes.empty(); ++layer) {
    std::string tar;
    for (unsigned entries = bytes.Take() % 16U; entries != 0; --entries) AddEntry(tar, bytes);
    tar.append(1024, '\0');
    Text text(std::move(tar));
    if (layers) {
      if (!s::ApplyLayer(text, unpacker).ok()) return 0;
      continue;
    }
    s::TarReader reader(text);
    for (;;) {
      const auto entry = reader.Next();
      if (!entry.ok() || !entry->has_value()) break;
      if (!unpacker.Write(**entry, reader).ok()) return 0;
    }
  }
  static_cast<void>(unpacker.MakeMountPoints());
  return 0;
}
