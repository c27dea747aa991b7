#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs that git would never write, each in a bare repository of its own: DIR/<case>. One file of HEAD's tree is the object `WANTED`,
which is only in the pack. Prints one case a line. The formats: gitformat-pack(5)."""
import hashlib
import os
import struct
import sys
import zlib

WANTED, OTHER = b"\x11" * 20, b"\x22" * 20
COMMIT, TREE, BLOB, OFS_DELTA, REF_DELTA = 1, 2, 3, 6, 7


def header(kind, size):
    first, size = kind << 4 | size & 15, size >> 4
    out = b""
    while size:
        out += bytes([first | 128])
        first, size = size & 127, size >> 7
    return out + bytes([first])


def number(value):  # of a delta's sizes
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def back(distance):  # of OFS_DELTA
    out = bytes([distance & 127])
    distance >>= 7
    while distance:
        distance -= 1
        out = bytes([distance & 127 | 128]) + out
        distance >>= 7
    return out


def delta(source, target, insert):
    return number(source) + number(target) + bytes([len(insert)]) + insert


def ref_delta(base, body, size=None):
    return header(REF_DELTA, len(body) if size is None else size) + base + zlib.compress(body)


def blob(data, size=None):
    return header(BLOB, len(data) if size is None else size) + zlib.compress(data)


def bomb(size):
    packer, zeros = zlib.compressobj(9), bytes(1 << 20)
    return header(BLOB, size) + b"".join(packer.compress(zeros) for _ in range(size >> 20)) + packer.flush()


def pack(objects, offsets=None):
    """objects: [(id, bytes)]. Returns the pack and its index (version 2); `offsets` overrides where the index says an id is."""
    body, table = b"PACK" + struct.pack(">II", 2, len(objects)), {}
    for name, data in objects:
        table[name] = (len(body), zlib.crc32(data))
        body += data
    for name, offset in (offsets or {}).items():
        table[name] = (offset, 0)
    trailer = hashlib.sha1(body).digest()
    names = sorted(table)
    fanout = [sum(1 for n in names if n[0] <= i) for i in range(256)]
    index = b"\xfftOc" + struct.pack(">I256I", 2, *fanout) + b"".join(names) + b"".join(struct.pack(">I", table[n][1]) for n in names)
    index += b"".join(struct.pack(">I", table[n][0]) for n in names) + trailer
    return body + trailer, index + hashlib.sha1(index).digest()


def chain(length):
    """A blob under `length` deltas, each against the one before."""
    objects, at = [(b"\x30" + b"\0" * 19, blob(b"x"))], 12
    previous = at
    at += len(objects[0][1])
    for i in range(length):
        body = zlib.compress(delta(1, 1, b"x"))
        data = header(OFS_DELTA, 4) + back(at - previous) + body
        objects.append((WANTED if i == length - 1 else b"\x31" + struct.pack(">I", i) + b"\0" * 15, data))
        previous, at = at, at + len(data)
    return objects


def cases():
    small = delta(4, 4, b"text")
    yield "ring of two deltas", pack([(WANTED, ref_delta(OTHER, small)), (OTHER, ref_delta(WANTED, small))])
    yield "delta of itself", pack([(WANTED, ref_delta(WANTED, small))])
    yield "delta of nothing", pack([(WANTED, ref_delta(OTHER, small))])
    yield "delta of what lies before the pack", pack([(WANTED, header(OFS_DELTA, len(small)) + back(1 << 40) + zlib.compress(small))])
    yield "small delta of a gigabyte", pack([(OTHER, bomb(1 << 30)), (WANTED, ref_delta(OTHER, delta(1 << 30, 4, b"text")))])
    yield "gigabyte that says it is small", pack([(WANTED, header(BLOB, 16) + bomb(1 << 30)[5:])])
    yield "delta that makes a gigabyte", pack([(OTHER, blob(b"text")), (WANTED, ref_delta(OTHER, number(4) + number(1 << 30) + b"\x01t"))])
    yield "delta that copies past its base", pack([(OTHER, blob(b"text")), (WANTED, ref_delta(OTHER, number(4) + number(9) + b"\x91\x7f\x09"))])
    yield "object of 2^60 bytes", pack([(WANTED, blob(b"x", 1 << 60))])
    yield "index past the end", pack([(WANTED, blob(b"x"))], {WANTED: 1 << 30})
    yield "index into the trailer", pack([(WANTED, blob(b"x"))], {WANTED: 12 + len(blob(b"x")) + 3})
    yield "index into the header", pack([(WANTED, blob(b"x"))], {WANTED: 0})
    yield "unknown type of object", pack([(WANTED, header(5, 1) + zlib.compress(b"x"))])
    yield "chain of 4000 deltas", pack(chain(4000))
    yield "chain of 60000 deltas", pack(chain(60000))
    good, index = pack([(WANTED, blob(b"x"))])
    yield "index without an end", (good, index[:-30])
    yield "index that goes down", (good, index[:8] + struct.pack(">I", 9) + index[12:])
    yield "pack without an end", (good[:20], index)
    yield "pack of no version", (good[:4] + struct.pack(">I", 9) + good[8:], index)
    yield "bytes of another object", (good, index)


def main():
    top = sys.argv[1]
    for name, (body, index) in cases():
        where = os.path.join(top, name.replace(" ", "_"))
        for folder in ("objects/pack", "refs/heads"):
            os.makedirs(os.path.join(where, folder))

        def put(path, data):
            os.makedirs(os.path.dirname(os.path.join(where, path)), exist_ok=True)
            with open(os.path.join(where, path), "wb") as file:
                file.write(data)

        def loose(kind, data):
            data = kind + b" %d\0" % len(data) + data
            digest = hashlib.sha1(data).hexdigest()
            put(f"objects/{digest[:2]}/{digest[2:]}", zlib.compress(data))
            return digest
        tree = loose(b"tree", b"100644 file\0" + WANTED)
        who = b"A <a@example.org> 1 +0000\n"
        commit = loose(b"commit", b"tree " + tree.encode() + b"\nauthor " + who + b"committer " + who + b"\nwords\n")
        put("HEAD", b"ref: refs/heads/main\n")
        put("refs/heads/main", commit.encode() + b"\n")
        put("objects/pack/pack-1.pack", body)
        put("objects/pack/pack-1.idx", index)
        print(os.path.basename(where))


main()
