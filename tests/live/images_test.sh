#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Container images as other tools make and read them: umoci builds one, skopeo turns it into every other form, all have one id; checks
# run on it; what is exported is read by both again. Cases b01 b04 b09 b14 c11 f09, R2.11 R5.13 R5.14.
set -uo pipefail
# shellcheck source=tests/support/cell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/cell.sh"
for program in umoci skopeo gzip; do
  command -v "$program" >/dev/null || { fail "$program is installed" "packaging/dependencies installs it"; finish; }
done
world
cd "$scratch" || exit 1
umask 022
path=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# umoci keeps the index to its owner; an importer has an id of its own.
open_layout() { chmod -R a+rX "$1"; }
convert() { skopeo --insecure-policy copy -q "$@"; }
import_image() { bailiff --json image import "$@" 2>"$scratch/stderr" | member image; }
config_of() {  # LAYOUT: the digest of the configuration, as the documents of the layout name it
  python3 -I -S - "$1" <<'PYTHON'
import json, sys
blob = lambda digest: json.load(open(f"{sys.argv[1]}/blobs/{digest.replace(':', '/')}", encoding="utf-8"))
index = json.load(open(f"{sys.argv[1]}/index.json", encoding="utf-8"))
print(blob(index["manifests"][0]["digest"])["config"]["digest"])
PYTHON
}

# --- an image of four layers: a root, a setuid file over it, a file taken away, a directory replaced
build() {
  umoci init --layout made && umoci new --image made:t && umoci insert --image made:t root / &&
    umoci config --image made:t --config.env "$path" --config.entrypoint /bin/false --config.user root \
      --config.workingdir /proc/self/fd/7 --config.label a=b
}
mkdir -p odd/etc && echo gone >root/etc/gone && mkdir -p root/opt/d && echo lower >root/opt/d/lower && echo same >root/etc/same
cp root/bin/probe odd/idsu && chmod 4755 odd/idsu && echo upper >odd/upper && ln root/etc/same root/etc/linked
check "umoci builds an image" build
check "umoci adds layers" sh -c 'umoci insert --image made:t odd/idsu /bin/idsu && umoci insert --image made:t --whiteout /etc/gone &&
  mkdir -p new && echo upper >new/upper && umoci insert --image made:t --opaque new /opt/d && umoci gc --layout made'
open_layout made
wanted=$(config_of made)
same "the layout as a directory" "$(import_image made --name oci)" "$wanted"

# --- one id, whatever the route
convert oci:made:t oci-archive:made.tar && same "skopeo: an OCI archive" "$(import_image made.tar)" "$wanted"
convert oci:made:t docker-archive:docker.tar:made:t && same "skopeo: docker save" "$(import_image docker.tar)" "$wanted"
same "docker save, said" "$(import_image docker.tar --format docker)" "$wanted"
gzip -k docker.tar && same "docker save under gzip" "$(import_image docker.tar.gz)" "$wanted"
same "docker save through a pipe" "$(bailiff --json image import - <docker.tar 2>"$scratch/stderr" | member image)" "$wanted"
# skopeo writes a configuration of its own on the way back: another id, and the same root.
convert docker-archive:docker.tar oci:back:t && open_layout back && back=$(import_image back)
same "docker save and back to OCI: the same root" "$(bailiff --json image show "$back" | member tree)" "$(bailiff --json image show oci | member tree)"
convert --dest-compress --dest-compress-format zstd oci:made:t oci:zstd:t && open_layout zstd && same "layers under zstd" "$(import_image zstd)" "$wanted"
(cd made && tar -cf ../plain.tar ./*) && same "the layout in a tar" "$(import_image plain.tar --format oci)" "$wanted"
same "one image of all the others" "$(find "$data/images" -mindepth 1 -maxdepth 1 | wc -l)" 3

# --- what the layers made, seen by a command; b01: WorkingDir, User and Entrypoint are not used
image=oci
expect b01_b04_layers_as_a_command_sees_them 'outcome=success stdout=/scratch\n65532\nupper\nsame\nsame\n' -- /bin/sh -c \
  'pwd -P; id -u; ls /opt/d; cat /etc/same /etc/linked; [ ! -e /etc/gone ] || echo gone is there'
expect b14_setuid_of_a_higher_layer_is_stripped 'outcome=success stdout=755\n' -- /bin/stat -c %a /bin/idsu
same "evidence quotes the image" "$(member image <<<"$said") $(member image_tree <<<"$said")" "$wanted $(bailiff --json image show oci | member tree)"

# --- R2.11, R5.13, R5.14: what a configuration may ask for
variant() {  # variant NAME PYTHON: the image with another configuration; PYTHON changes `config`
  rm -rf "$1" && cp -R made "$1" && python3 -I -S - "$1" "$2" <<'PYTHON'
import hashlib, json, os, sys
top, change = sys.argv[1:]
load = lambda path: json.load(open(f"{top}/{path}", encoding="utf-8"))
def put(value):
    text = json.dumps(value).encode()
    digest = hashlib.sha256(text).hexdigest()
    with open(f"{top}/blobs/sha256/{digest}", "wb") as file:
        file.write(text)
    return {"digest": f"sha256:{digest}", "size": len(text)}
index = load("index.json")
manifest = load("blobs/" + index["manifests"][0]["digest"].replace(":", "/"))
document = load("blobs/" + manifest["config"]["digest"].replace(":", "/"))
config = document["config"]
exec(change)
manifest["config"].update(put(document))
index["manifests"][0].update(put(manifest))
with open(f"{top}/index.json", "w", encoding="utf-8") as file:
    json.dump(index, file)
os.chmod(f"{top}/index.json", 0o644)
PYTHON
  check "the image $1" bailiff image import "$1" --name "$1"
}
rejected='outcome=unavailable reasons=["configuration_rejected"] process.state=not_started cleanup.confirmed=true'
variant lang 'config["Env"].append("LANG=de")'
image=lang expect r2_11_an_entry_the_command_does_not_get "$rejected" -- /bin/true
[[ $said == *'run it with --env LANG=de'* ]] && pass "r2_11 says which, and what to do" || fail "r2_11 says which, and what to do" "$said"
image=lang expect r2_11_the_same_entry_in_the_recipe 'outcome=success stdout=de\n' --env LANG=de -- /bin/sh -c 'echo $LANG'
image=lang expect r2_11_another_value_in_the_recipe "$rejected" --env LANG=fr -- /bin/true
variant home 'config["Env"].append("HOME=/root")'
image=home expect r2_11_an_entry_against_the_profile "$rejected" -- /bin/true
variant volumes 'config["Volumes"] = {"/data": {}, "/source/v": {}, "/usr/lib": {}}'
image=volumes expect r5_13_c11_declared_volumes "$rejected" -- /bin/sh -c 'touch /usr/lib/x; ls -la /source/v'
variant health 'config["Healthcheck"] = {"Test": ["CMD", "/bin/true"]}'
image=health expect r5_14_a_health_command "$rejected" -- /bin/true
variant none 'config["Healthcheck"] = {"Test": ["NONE"]}; config["Volumes"] = {}'
image=none expect r5_14_a_health_command_taken_away 'outcome=success' -- /bin/true

# --- b09: bytes that are not what was named
hit() { printf '\377' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
cp -R made bent && layer=$(find bent/blobs/sha256 -size +100k | head -n 1) && hit "$layer" 5000
refused b09_a_layer_with_another_byte 65 image.digest.mismatch bailiff image import bent
cp docker.tar bent.tar && hit bent.tar 600000
refused b09_docker_save_with_another_byte 65 image.digest.mismatch bailiff image import bent.tar
sed -i 's/"sha256:/"sha512:/' bent/index.json
refused b09_another_algorithm 65 image.document.malformed bailiff image import bent
cp -R made two && umoci tag --image two:t u && umoci config --image two:u --config.label other=1 && open_layout two
refused several_images_in_one_layout 65 image.manifest.ambiguous bailiff image import two
refused a_directory_that_is_none 65 image.format.unclear bailiff image import root
refused f01_not_an_image_format 64 cli.option.value bailiff image import made --format tar
same "none of them is there" "$(bailiff --json image list | grep -o '"image":' | wc -l)" 8

# --- out again
check "an export" bailiff image export oci out.tar
bailiff --json image export oci again.tar >export.json 2>stderr || fail "an export with --json" "$(cat stderr)"
same "the same image is the same bytes" "$(sha256sum <out.tar) $(member sha256 <export.json)  -" "$(sha256sum <again.tar) $(sha256sum <out.tar)"
same "the same through a pipe" "$(bailiff image export oci - 2>stderr | sha256sum)" "$(sha256sum <out.tar)"
exported=$(member exported_image <export.json)
check "skopeo reads it" skopeo inspect oci-archive:out.tar
convert oci-archive:out.tar oci:out:latest && check "umoci unpacks it" umoci unpack --image out:latest bundle
same "umoci finds the same files" "$(cd bundle/rootfs && find . ! -type d -printf '%P %y %m %s %l\n' | sort)" \
  "$(cd "$data/images/${wanted#sha256:}/root" && find . ! -type d -printf '%P %y %m %s %l\n' | sort)"
same "umoci finds the same bytes" "$(cd bundle/rootfs && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)" \
  "$(cd "$data/images/${wanted#sha256:}/root" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)"
convert oci-archive:out.tar docker-archive:out-docker.tar:x:y && same "its id is the one that was said, from every route" \
  "$(import_image out.tar) $(import_image out-docker.tar)" "$exported $exported"
same "and its root the same" "$(bailiff --json image show "$exported" | member tree)" "$(bailiff --json image show oci | member tree)"
refused an_export_over_a_file 73 cli.file.exists bailiff image export oci out.tar
refused an_export_of_nothing 66 image.id.unknown bailiff image export nothing none.tar
same "which leaves no file" "$(ls none.tar 2>/dev/null)" ""
[[ $(sha256sum <out.tar) == "$(sha256sum <again.tar)" ]] && pass "the file that was there is as it was" || fail "the file that was there is as it was"

# --- f09: a full disk and Ctrl-C leave nothing half taken
if mkdir small && mount -t tmpfs -o size=330m,mode=755 none small; then
  small() { "$BAILIFF_BUILD/bin/bailiff" --data-dir "$scratch/small/data" "$@"; }
  check "a small file system" small init
  head -c 90000000 /dev/urandom >root/big && umoci insert --image made:t root/big /big && umoci tag --image made:t big && open_layout made && rm root/big
  convert oci:made:big oci-archive:big.tar
  refused f09_a_full_disk 74 snapshot.space.reserve small image import big.tar
  same "f09 nothing of it stays" "$(find small/data/images small/data/staging -mindepth 1 | wc -l)" 0
  check "f09 a smaller one goes in afterwards" small image import docker.tar
  umount small
else
  fail "a small file system can be mounted"
fi
env --default-signal=INT "${bailiff_argv[@]}" image import big.tar >said 2>&1 &
importing=$!
for ((i = 0; i < 500; i++)); do
  [[ -z $(find "$data/staging" -name config.json -o -name root -path '*/out/*' 2>/dev/null) ]] || break
  read -r -t 0.01 _ <> <(:) || true
done
kill -INT "$importing"
wait "$importing"
same "f09 Ctrl-C in the middle: 130" $? 130
same "f09 nothing of it stays after Ctrl-C" "$(bailiff --json image list | grep -c "$(config_of made)"; find "$data/staging" -mindepth 1 | wc -l)" $'0\n0'
image=oci left_nothing_after_a_run "images leave nothing behind"
finish
