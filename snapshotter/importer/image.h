// SPDX-License-Identifier: Apache-2.0
// An OCI layout, a docker save archive or the tar of a root file system becomes an image: root/ and
// config.json.
#pragma once

#include "policy/object.h"
#include "snapshotter/importer/unpack.h"
#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

class ArchiveStream;

struct ImageInput {
  int directory = -1;  // an OCI layout
  int archive = -1;    // or a regular file; its position is not used
};

// `out`: an empty directory. Reports every layer (diff_id and uncompressed size), lowest first; the
// result's digest is the image id, SHA-256 of config.json. That is the image's own configuration,
// byte for byte, or for a root file system a function of its diff_id alone.
//
// What a file is, unless it is said: a tar (plain, or under gzip, zstd or xz) with oci-layout and
// index.json at its top is an OCI layout, else one with manifest.json is of docker save, else it is
// a root file system. kFormat when it has such files beside others that no image archive has. Where
// both kinds of documents are, they must agree.
//
// Nothing is unpacked before every document and layer has its digest and size (image_plan.h).
// Entries (contracts 7.9; cases b04, f09, c07):
// - A name is relative after leading "./"; "..", empty components and NUL are refused; nothing is
//   written through a link, whatever an earlier entry or layer planted; within one layer a
//   directory may come again (its last mode counts), anything else twice is refused.
// - A symbolic link is kept as text, never resolved. A hard link must name a regular file that is
//   already there.
// - A layer's entries take the place of what lower layers put there, of whatever type; its
// whiteouts
//   take such entries away, and only such (unpack.h).
// - Entries below dev/ are skipped with a warning (DeviceEntries); devices and FIFOs elsewhere are
//   refused.
// - setuid, setgid, sticky and extended attributes are dropped with a warning. Owners are not kept:
//   everything belongs to the controller, so a candidate (uid 65532) has what the permission bits
//   give to others. Files get u+r and directories u+rwx, which the verifying job and the removal
//   need.
// - source, scratch, proc, sys and dev are made as empty directories where they are absent;
// anything
//   else of these names is refused.
// Bounds hold for all layers together: entries written, bytes, names; each layer may unpack to 200
// times its size.
Result<JobResult> ImportImage(ImageInput input, int out, policy::ImageFormat format,
                              Reporter& reporter);

// Reads one configuration and nothing else: its facts, its diff_ids as layers, its SHA-256 as
// digest.
Result<JobResult> ReadImageConfig(int config, Reporter& reporter);

// Parts of ImportImage, for tests and fuzzing. `root`: the empty root directory.
Result<JobResult> UnpackRoot(ArchiveStream& stream, int root, Reporter& reporter);
// Applies one more layer, of which `stream` is the uncompressed tar, to its end. Its digest is
// known: the zero blocks at its end may be absent.
Result<void> ApplyLayer(ByteSource& stream, Unpacker& unpacker);

}  // namespace bailiff::snapshotter
