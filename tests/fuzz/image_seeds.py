# SPDX-License-Identifier: Apache-2.0
"""The first inputs of the three corpora about container images; `seeds` writes them."""
import gzip
import hashlib
import io
import json
import tarfile


def sha(data):
    return hashlib.sha256(data).hexdigest()


def dump(value):
    return json.dumps(value, separators=(",", ":")).encode()


def descriptor(kind, data, **more):
    return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{sha(data)}", "size": len(data), **more}


def image_documents(layers, config=None, **more):
    configuration = {"architecture": "amd64", "os": "linux", "config": config or {}, "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha(l)}" for l in layers]}, **more}
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": descriptor("config.v1+json", dump(configuration)),
                "layers": [descriptor("layer.v1.tar", l) for l in layers]}
    return configuration, manifest


def oci_documents(keep):
    layer = b"x" * 10
    configuration, manifest = image_documents([layer], {"Env": ["PATH=/bin", "A=b"], "Volumes": {"/d": {}}, "Healthcheck": {"Test": ["CMD", "x"]}, "Cmd": None})
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
             "manifests": [descriptor("manifest.v1+json", dump(manifest), platform={"architecture": "amd64", "os": "linux"}), descriptor("index.v1+json", b"")]}
    docker = [{"Config": "c.json", "RepoTags": None, "Layers": ["a/layer.tar", "b.tar"]}]
    good = [{"imageLayoutVersion": "1.0.0"}, index, manifest, configuration, docker]
    for kind, document in enumerate(good):
        keep("oci", bytes([kind]) + dump(document))
        for bad in (b"", b"null", b"7", b"[]", b"{}", b"[[]]", b"{", b'{"a":1,"a":2}', dump(document)[:-1]):
            keep("oci", bytes([kind]) + bad)

    def bent(kind, old, new):
        text = dump(good[kind])
        assert old in text, old
        keep("oci", bytes([kind]) + text.replace(old, new, 1))
    bent(0, b"1.0.0", b"2.0.0")
    bent(0, b"imageLayoutVersion", b"ImageLayoutVersion")
    for kind in (1, 2):
        bent(kind, b'"schemaVersion":2', b'"schemaVersion":3')
        bent(kind, b'"schemaVersion":2', b'"schemaVersion":-2')
        bent(kind, b'"mediaType":"application/vnd.oci', b'"mediaType":"application/vnd.other')
        bent(kind, b'"digest":"sha256:', b'"digest":"sha512:')
        bent(kind, b'"digest":"sha256:', b'"digest":"sha256:z')
        bent(kind, b'"size":', b'"size":-')
        bent(kind, b'"digest"', b'"DIGEST":"x","digest"')
    bent(1, b'"os":"linux"', b'"os":"windows"')
    bent(1, b'"platform":{', b'"platform":7,"x":{')
    bent(1, b'"manifests":[', b'"manifests":[7,')
    bent(1, b'"manifests":[', b'"manifests":{},"x":[')
    bent(2, b"config.v1+json", b"other.v1+json")
    bent(2, b"layer.v1.tar", b"layer.v9.tar")
    bent(2, b"layer.v1.tar", b"layer.v1.tar+zstd")
    bent(2, b'"layers":[', b'"layers":[],"x":[')
    bent(2, b'"config":{', b'"config":7,"x":{')
    bent(3, b"amd64", b"arm64")
    bent(3, b'"os":"linux"', b'"os":7')
    bent(3, b'"config":{', b'"config":7,"x":{')
    bent(3, b'["PATH=/bin","A=b"]', b"7")
    bent(3, b'["PATH=/bin","A=b"]', b"[7]")
    bent(3, b'["PATH=/bin","A=b"]', b"[" + b",".join([b'"A"'] * 65) + b"]")
    bent(3, b'{"/d":{}}', b"[]")
    bent(3, b'{"/d":{}}', b"{}")
    bent(3, b'["CMD","x"]', b'["NONE"]')
    bent(3, b'["CMD","x"]', b"null")
    bent(3, b'["CMD","x"]', b'"x"')
    bent(3, b'{"Test"', b'{"test"')
    bent(3, b'{"Test":["CMD","x"]}', b"7")
    bent(3, b'"type":"layers"', b'"type":"flat"')
    bent(3, b'"diff_ids":[', b'"diff_ids":[7,')
    bent(3, b'"diff_ids":[', b'"diff_ids":[],"x":[')
    bent(3, b'"diff_ids":[', b'"diff_ids":7,"x":[')
    bent(4, b'"c.json"', b"7")
    bent(4, b'"c.json"', b'""')
    bent(4, b'["a/layer.tar","b.tar"]', b"null")
    bent(4, b'["a/layer.tar","b.tar"]', b"[]")
    bent(4, b'"b.tar"', b"7")
    keep("oci", b"\4" + dump(docker * 2))


def archive_of(files, kinds=()):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for name, kind, link in kinds:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, link
            tar.addfile(info)
    return out.getvalue()


def image_archives(keep):
    layer = archive_of([("f", b"1")])
    configuration, manifest = image_documents([layer])
    config = dump(configuration)
    blob = lambda data: ("blobs/sha256/" + sha(data), data)
    marker = ("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
    index = lambda *named: dump({"schemaVersion": 2, "manifests": list(named)})
    named = lambda document, **more: descriptor("manifest.v1+json", dump(document), **more)
    docker = lambda config_name, *names: ("manifest.json", dump([{"Config": config_name, "Layers": list(names)}]))

    def put(files, kinds=()):
        keep("image", b"\0" + archive_of(files, kinds))
    base = [marker, blob(config), blob(layer)]
    put(base + [blob(dump(manifest)), ("index.json", index(named(manifest)))])
    put(base + [blob(dump(manifest)), ("index.json", index(named(manifest))), docker(blob(config)[0], blob(layer)[0])])
    other = dict(manifest, annotations={"a": "b"})
    put(base + [blob(dump(manifest)), blob(dump(other)), ("index.json", index(named(manifest), named(other)))])
    put(base + [blob(dump(manifest)), ("index.json", index(named(manifest), named(manifest), named(other, platform={"architecture": "arm", "os": "linux"})))])
    put(base + [("index.json", index(named(other, platform={"architecture": "arm", "os": "linux"})))])
    put(base + [("index.json", index(descriptor("other", b"")))])
    nested = index(named(manifest))
    for _ in range(5):
        put(base + [blob(dump(manifest)), blob(nested), ("index.json", index(descriptor("index.v1+json", nested), descriptor("index.v1+json", nested)))])
        base.append(blob(nested))
        nested = index(descriptor("index.v1+json", nested))
    base = base[:3]
    for field, value in (("size", 1), ("digest", "sha256:" + sha(b"y")), ("mediaType", "application/vnd.oci.image.layer.v1.tar+gzip")):
        bad = json.loads(dump(manifest))
        bad["layers"][0][field] = value
        put(base + [blob(dump(bad)), ("index.json", index(named(bad))), ("blobs/sha256/" + sha(b"y"), layer)])
        bad = json.loads(dump(manifest))
        bad["config"][field] = value
        put(base + [blob(dump(bad)), ("index.json", index(named(bad))), ("blobs/sha256/" + sha(b"y"), config)])
    swapped, _ = image_documents([b"z"])
    for document in (swapped, dict(swapped, rootfs={"type": "layers", "diff_ids": ["sha256:" + sha(layer)] * 2})):
        lying = json.loads(dump(manifest))
        lying["config"] = descriptor("config.v1+json", dump(document))
        put(base + [blob(dump(document)), blob(dump(lying)), ("index.json", index(named(lying)))])
    packed = gzip.compress(layer, mtime=0)
    zipped = json.loads(dump(manifest))
    zipped["layers"] = [descriptor("layer.v1.tar+gzip", packed)]
    put([marker, blob(config), blob(packed), blob(dump(zipped)), ("index.json", index(named(zipped)))])
    put([docker(sha(config) + ".json", "a/layer.tar"), (sha(config) + ".json", config), ("a/layer.tar", layer), ("repositories", b"{}"), ("bin/sh", b"x")])
    put([docker("sha256:" + sha(config), "l.tar.gz"), ("sha256:" + sha(config), config), ("l.tar.gz", packed)])
    other_layer = archive_of([("g", b"2")])
    other_config = dump(image_documents([other_layer])[0])
    put(base + [blob(dump(manifest)), ("index.json", index(named(manifest))), blob(other_layer), ("c.json", other_config), docker("c.json", blob(other_layer)[0])])
    put([docker(sha(b"y") + ".json", "l.tar"), (sha(b"y") + ".json", config), ("l.tar", layer)])
    put([docker("c.json", "l.tar", "l.tar"), ("c.json", config), ("l.tar", layer)])
    put([docker("c.json", "l.tar"), ("c.json", config), ("l.tar", layer), ("l.tar", layer)])
    put([docker("c.json", "blobs/sha256/" + sha(b"y")), ("c.json", config), ("blobs/sha256/" + sha(b"y"), layer)])
    put([docker("c.json", "l.tar"), ("c.json", config), ("l.tar", b"")])
    put([docker("c.json", "l.tar"), ("c.json", config), ("l.tar", gzip.compress(layer, mtime=0)[:-9])])
    for kind, link in ((tarfile.SYMTYPE, "x/../y.tar"), (tarfile.SYMTYPE, "./y.tar"), (tarfile.SYMTYPE, "../y.tar"), (tarfile.SYMTYPE, "/y.tar"), (tarfile.SYMTYPE, "l.tar"),
                       (tarfile.SYMTYPE, "n" * 300), (tarfile.LNKTYPE, "./y.tar"), (tarfile.LNKTYPE, "none"), (tarfile.DIRTYPE, "")):
        put([docker("c.json", "l.tar"), ("c.json", config), ("y.tar", layer)], [("l.tar", kind, link), ("d/l.tar", kind, "../y.tar"), ("n" * 300, kind, link), ("./", tarfile.DIRTYPE, "")])
    keep("image", b"\x04" + archive_of([docker("c.json", "l.tar"), ("c.json", config), ("l.tar", layer)]))
    keep("image", b"\x08" + b"{}")


def layer_lists(keep):
    words = ["a", "b", "c", "/", "/2", "..", ".", ".wh.", ".wh..wh..opq", "dev", "\xff", "a/b", "./", "d", "proc", "../around"]
    types = {"f": 0, "h": 2, "l": 4, "d": 6, "c": 8, "p": 9, "7": 10}

    def name(text):
        parts = [words.index(w) for w in text.split()] if text else []
        return bytes([len(parts)] + parts)

    def layers(*lists, mode=0):
        out = bytes([mode])
        for entries in lists:
            out += bytes([len(entries)])
            for kind, path, *link in entries:
                data, special = "+" in kind, "*" in kind
                code = types[kind[0]]
                # The kind is read modulo 12: 0x40 asks for data, 0x80 for set-id bits.
                code = next(c for c in range(256) if c % 12 == code and bool(c & 0x40) == data and bool(c & 0x80) == special)
                out += bytes([code]) + name(path)
                if kind[0] in "hl":
                    out += name(link[0])
        keep("layers", out)
    file = ("f+", "a / b")
    for upper in ([("f+", "a / b")], [("f", "a")], [("d", "a")], [("l", "a", "/")], [("l", "a / b", "b")], [("h", "c", "a / b")], [("h", "a / b", "a / b")],
                  [("h", "a", "a / b")], [("h", "c", "a")], [("h", "c", "d")], [("h", "c", "dev / a")], [("f", ".wh. a")], [("f", "a / .wh. b")], [("f", "a / .wh. c")],
                  [("f", "c / .wh. b")], [("f", ".wh..wh..opq")], [("f", "a / .wh..wh..opq"), ("f+", "a / c")], [("f+", "a / c"), ("f", "a / .wh..wh..opq")],
                  [("f+", "a / c / d"), ("f", ".wh. a")], [("f", ".wh.")], [("f", ".wh. ..")], [("f", ".wh. .")], [("f", ".wh. .wh. a")], [("f+", ".wh. a")], [("d", ".wh. a")],
                  [("f", ".wh. a / b")], [("f", "a / .wh. b / .wh. c")], [("f", "dev / a")], [("c", "dev / a")], [("c", "a")], [("p", "a")], [("f", ".. / a")], [("f", "/ a")],
                  [("f", "a / / b")], [("f", "")], [("d", ".")], [("d", "./")], [("f", ".")], [("f*", "c")], [("d*", "c")], [("l", "c", "")], [("f", "a / b / c")],
                  [("f", "b"), ("f", "b")], [("d", "b"), ("f", "b")], [("f", "b"), ("d", "b")], [("l", "b", "a"), ("f", "b / c")], [("f", "proc")], [("l", "proc", "/")],
                  [("f", "../around")], [("l", "d", "../around"), ("f", "d / c")]):
        layers([file], upper)
        layers([file] + upper)
        layers([file] + upper, mode=1)
        layers([file, ("l", "d", "../around"), ("l", "b", "a")], upper, [("f", "a / b")])
    for upper in ([("f", "d / a")], [("f", "d / .wh. c")], [("f", "d / .wh..wh..opq")], [("h", "c", "d / b")], [("d", "d")], [("f", ".wh. d")], [("f", "b / b")]):
        layers([file, ("l", "d", "../around"), ("l", "b", "a")], upper)


def write(keep):
    oci_documents(keep)
    image_archives(keep)
    layer_lists(keep)
