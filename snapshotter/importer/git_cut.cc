// SPDX-License-Identifier: Apache-2.0
// Where libgit2 is cut. Its archive holds transports, TLS, configuration, filters, merge drivers,
// the index and the repository, and its initialiser reaches all of them; the importer needs packs,
// loose objects and SHA-1. What is defined here is taken instead of the members that define it, so
// none of the rest is in the program: it cannot be called, and needs no library that a static
// program cannot have. Each does nothing, or fails where it would matter; none of them is reached
// by reading.
//
// These are inner names of libgit2 1.5. With another version the link fails, here and loudly: a
// missing name is undefined, one too many is defined twice. tests/lint looks at the result.
#include "snapshotter/importer/git_cut.h"

// git_mwindow_open is wrapped, not cut (the linker's --wrap): see git_cut.h.
#include <sys/types.h>

#include <cstring>

namespace bailiff::snapshotter {
namespace {

std::size_t windows_left = kWindowsPerObject;  // this process has one thread

bool TakeWindow() { return windows_left != 0 && --windows_left != 0; }

}  // namespace

void BeginGitObject() { windows_left = kWindowsPerObject; }
bool GitWindowsSpent() { return windows_left == 0; }

}  // namespace bailiff::snapshotter

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's own names for what it wraps
unsigned char* __real_git_mwindow_open(void*, void**, off_t, std::size_t, unsigned*);
unsigned char* __wrap_git_mwindow_open(void*, void**, off_t, std::size_t, unsigned*);
unsigned char* __wrap_git_mwindow_open(void* file, void** cursor, off_t offset, std::size_t extra,
                                       unsigned* left) {
  if (!bailiff::snapshotter::TakeWindow()) return nullptr;
  return __real_git_mwindow_open(file, cursor, offset, extra, left);
}
// NOLINTEND(bugprone-reserved-identifier)

// --- global initialisers of what is left out
int git_filter_global_init();
int git_filter_global_init() { return 0; }
int git_hash_sha256_global_init();
int git_hash_sha256_global_init() { return 0; }
int git_mbedtls_stream_global_init();
int git_mbedtls_stream_global_init() { return 0; }
int git_merge_driver_global_init();
int git_merge_driver_global_init() { return 0; }
int git_openssl_stream_global_init();
int git_openssl_stream_global_init() { return 0; }
int git_stream_registry_global_init();
int git_stream_registry_global_init() { return 0; }
int git_sysdir_global_init();
int git_sysdir_global_init() { return 0; }
int git_transport_ssh_global_init();
int git_transport_ssh_global_init() { return 0; }

// --- options of what is left out
bool git_http__expect_continue = false;
bool git_index__enforce_unsaved_safety = false;
bool git_object__strict_input_validation = true;
bool git_reference__enable_symbolic_ref_target_validation = true;
bool git_repository__fsync_gitdir = false;
bool git_repository__validate_ownership = true;
bool git_smart__ofs_delta_enabled = false;
int git_mbedtls__set_cert_location(const char*, const char*);
int git_mbedtls__set_cert_location(const char*, const char*) { return -1; }
void git_repository__free_extensions();
void git_repository__free_extensions() {}
int git_repository__extensions(char***, std::size_t*);
int git_repository__extensions(char***, std::size_t*) { return -1; }
int git_repository__set_extensions(const char**, std::size_t);
int git_repository__set_extensions(const char**, std::size_t) { return -1; }
int git_sysdir_get(const void**, int);
int git_sysdir_get(const void**, int) { return -1; }
int git_sysdir_set(int, const char*);
int git_sysdir_set(int, const char*) { return -1; }

// --- SHA-256: a repository of that format is refused by name before anything is read
int git_hash_sha256_ctx_init(void*);
int git_hash_sha256_ctx_init(void*) { return -1; }
void git_hash_sha256_ctx_cleanup(void*);
void git_hash_sha256_ctx_cleanup(void*) {}
int git_hash_sha256_init(void*);
int git_hash_sha256_init(void*) { return -1; }
int git_hash_sha256_update(void*, const void*, std::size_t);
int git_hash_sha256_update(void*, const void*, std::size_t) { return -1; }
int git_hash_sha256_final(unsigned char*, void*);
int git_hash_sha256_final(unsigned char*, void*) { return -1; }

// --- writing packs, reading commit graphs, filtering what is hashed
std::size_t git_indexer__max_objects = 0;
std::size_t git_indexer__max_object_size = 0;  // until InitialiseGit
int git_indexer_new(void**, const char*, unsigned, void*, void*);
int git_indexer_new(void**, const char*, unsigned, void*, void*) { return -1; }
int git_indexer_append(void*, const void*, std::size_t, void*);
int git_indexer_append(void*, const void*, std::size_t, void*) { return -1; }
int git_indexer_commit(void*, void*);
int git_indexer_commit(void*, void*) { return -1; }
void git_indexer_free(void*);
void git_indexer_free(void*) {}
int git_commit_graph_new(void**, const char*, bool);
int git_commit_graph_new(void**, const char*, bool) { return -1; }
int git_commit_graph_get_file(void**, void*);
int git_commit_graph_get_file(void**, void*) { return -1; }
void git_commit_graph_refresh(void*);
void git_commit_graph_refresh(void*) {}
void git_commit_graph_free(void*);
void git_commit_graph_free(void*) {}
int git_filter_list__convert_buf(void*, void*, void*);
int git_filter_list__convert_buf(void*, void*, void*) { return -1; }
int git_repository__configmap_lookup(int*, void*, int);
int git_repository__configmap_lookup(int*, void*, int) { return -1; }

// --- parsed objects: their table of types is all that reading asks of them
void git_object__free(void*);
void git_object__free(void*) {}

constexpr const char* kTypes[] = {"", "commit", "tree", "blob", "tag"};  // GIT_OBJECT_* from 0
constexpr int kLastType = 4;

int git_object_typeisloose(int type);
int git_object_typeisloose(int type) { return type > 0 && type <= kLastType ? 1 : 0; }

const char* git_object_type2string(int type);
const char* git_object_type2string(int type) {
  return git_object_typeisloose(type) != 0 ? kTypes[type] : "";
}

int git_object_stringn2type(const char* text, std::size_t size);
int git_object_stringn2type(const char* text, std::size_t size) {
  for (int type = 1; type <= kLastType; ++type) {
    if (std::strlen(kTypes[type]) == size && std::memcmp(kTypes[type], text, size) == 0)
      return type;
  }
  return -1;  // GIT_OBJECT_INVALID
}

}  // extern "C"
