# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The parts of boot: programs, kernel, initrd, guest side, QEMU. Sourced, with $tree set.
export PATH=$PATH:/usr/sbin:/sbin
vm_cache=${BAILIFF_CACHE:-$tree/build/cache}/vm
vm_modules=(virtio_pci 9pnet_virtio 9p overlay)

vm_need_programs() {
  local missing=() p
  for p in qemu-system-x86_64 cpio gzip depmod modprobe dpkg-deb apt-get busybox timeout; do
    command -v "$p" >/dev/null || missing+=("$p")
  done
  ((${#missing[@]} == 0)) || { echo "boot: not installed: ${missing[*]} (packaging/dependencies --test)" >&2; return 1; }
}

# The full Debian kernel: the cloud flavour has no 9p. Downloaded and unpacked once into the cache, never installed.
vm_kernel() {
  local package lock
  mkdir -p "$vm_cache"
  exec {lock}>"$vm_cache/lock"
  flock "$lock"
  if [[ ! -f $vm_cache/kernel/complete ]]; then
    package=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends: linux-image/ {print $2; exit}')
    [[ -n $package ]] || { apt-get update -qq && package=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image/ {print $2; exit}'); }
    [[ -n $package ]] || { echo "boot: apt knows no linux-image-amd64" >&2; return 1; }
    rm -rf "$vm_cache/kernel" "$vm_cache/download"
    mkdir -p "$vm_cache/kernel" "$vm_cache/download"
    (cd "$vm_cache/download" && { apt-get -qq -o APT::Sandbox::User=root download "$package" ||
       { apt-get update -qq && apt-get -qq -o APT::Sandbox::User=root download "$package"; }; }) >&2 || return 1
    dpkg-deb -x "$vm_cache"/download/*.deb "$vm_cache/kernel" || return 1
    rm -rf "$vm_cache/download"
    depmod -b "$vm_cache/kernel" "$(ls "$vm_cache/kernel/lib/modules")" || return 1
    touch "$vm_cache/kernel/complete"
  fi
  exec {lock}>&-
  vm_version=$(ls "$vm_cache/kernel/lib/modules")
  vm_image=$vm_cache/kernel/boot/vmlinuz-$vm_version
}

# vm_packages NAME PACKAGE…: Debian packages for the inside of a machine, downloaded and unpacked once into the cache, never installed;
# prints the folder.
vm_packages() {
  local folder=$vm_cache/$1 lock package
  shift
  mkdir -p "$vm_cache"
  exec {lock}>"$folder.lock"
  flock "$lock"
  if [[ ! -f $folder/complete ]]; then
    rm -rf "$folder" "$folder.download"
    mkdir -p "$folder" "$folder.download"
    (cd "$folder.download" && { apt-get -qq -o APT::Sandbox::User=root download "$@" ||
       { apt-get update -qq && apt-get -qq -o APT::Sandbox::User=root download "$@"; }; }) >&2 || return 1
    for package in "$folder".download/*.deb; do dpkg-deb -x "$package" "$folder" || return 1; done
    rm -rf "$folder.download"
    touch "$folder/complete"
  fi
  exec {lock}>&-
  echo "$folder"
}

# vm_initrd FILE plain|systemd: busybox, the few modules that reach the shared root, and the script that lays the tmpfs over it.
vm_initrd() {
  local file=$1 init=$2 root m path name order=()
  root=$(mktemp -d "${TMPDIR:-/tmp}/bailiff-initrd.XXXXXX")
  mkdir -p "$root/bin" "$root/modules"
  cp "$(command -v busybox)" "$root/bin/busybox"
  for m in "${vm_modules[@]}"; do
    while read -r path; do
      name=${path##*/}
      [[ " ${order[*]-} " == *" $name "* ]] && continue
      order+=("$name")
      cp "$path" "$root/modules/$name"
    done < <(modprobe -d "$vm_cache/kernel" -S "$vm_version" --show-depends "$m" | awk '$1 == "insmod" {print $2}')
  done
  {
    cat <<SCRIPT
#!/bin/busybox sh
b=/bin/busybox
\$b mkdir -p /proc /sys /dev /host /top /new
\$b mount -t proc proc /proc
\$b mount -t sysfs sysfs /sys
\$b mount -t devtmpfs dev /dev
for m in ${order[*]}; do \$b insmod /modules/\$m || echo "boot: module \$m did not load"; done
nine=trans=virtio,version=9p2000.L,msize=512000
\$b mount -t 9p -o \$nine,ro,cache=loose host /host
\$b mount -t tmpfs -o size=80%,mode=755 top /top
\$b mkdir /top/upper /top/work
\$b mount -t overlay -o lowerdir=/host,upperdir=/top/upper,workdir=/top/work root /new
\$b mkdir -p /new/proc /new/sys /new/dev /new/run /new/tmp
\$b mount -t proc proc /new/proc
\$b mount -t sysfs sysfs /new/sys
\$b mount -t devtmpfs dev /new/dev
\$b mkdir -p /new/dev/pts /new/dev/shm
\$b ln -sf /proc/self/fd /new/dev/fd
\$b mount -t devpts devpts /new/dev/pts
\$b mount -t tmpfs -o mode=1777 shm /new/dev/shm
\$b mount -t tmpfs -o mode=755 run /new/run
\$b mkdir -p /new/run/vm /new/run/vm-out
\$b mount -t 9p -o \$nine share /new/run/vm
\$b mount -t 9p -o \$nine out /new/run/vm-out
SCRIPT
    if [[ $init == systemd ]]; then
      # Only what the command needs: none of the host's own services, and nothing that tidies /tmp, where the tree may be.
      cat <<'SCRIPT'
$b mkdir -p /new/run/systemd/system /new/run/systemd/transient
for u in /new/lib/systemd/system/sysinit.target.wants/* /new/lib/systemd/system/local-fs.target.wants/*; do
  $b ln -sf /dev/null /new/run/systemd/system/${u##*/}
done
$b cp /new/run/vm/vm-command.service /new/run/vm/vm.target /new/run/systemd/system/
for u in dbus.socket dbus.service; do
  $b mkdir -p /new/run/systemd/system/$u.d
  printf '[Unit]\nDefaultDependencies=no\n' >/new/run/systemd/system/$u.d/alone.conf
done
exec $b switch_root /new /lib/systemd/systemd --unit=vm.target --show-status=0 --log-target=null
SCRIPT
    else
      cat <<'SCRIPT'
$b mount -t cgroup2 cgroup /new/sys/fs/cgroup
exec $b switch_root /new /bin/bash /run/vm/init
SCRIPT
    fi
  } >"$root/init"
  chmod +x "$root/init"
  (cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$file"
  rm -rf "$root"
}

# vm_guest_files DIR plain|systemd: what the guest runs, beside the command.
vm_guest_files() {
  cat >"$1/run" <<'SCRIPT'
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root VM_OUT=/run/vm-out LANG=C.UTF-8
unset TMPDIR
cd "$(cat /run/vm/directory)" 2>/dev/null || cd /
bash /run/vm/command </dev/null
echo $? >/run/vm/status
sync
SCRIPT
  if [[ $2 == systemd ]]; then
    cat >"$1/vm.target" <<'UNIT'
[Unit]
Description=one command in a throw-away machine
DefaultDependencies=no
Requires=dbus.socket vm-command.service
UNIT
    cat >"$1/vm-command.service" <<'UNIT'
[Unit]
Description=the command
DefaultDependencies=no
After=dbus.socket
[Service]
Type=oneshot
ExecStart=/bin/bash -c 'ip link set lo up; stty -F /dev/ttyS0 -opost 2>/dev/null; bash /run/vm/run; exec systemctl poweroff --force --force'
StandardOutput=file:/dev/ttyS0
StandardError=file:/dev/ttyS0
TimeoutStartSec=infinity
UNIT
  else
    cat >"$1/init" <<'SCRIPT'
ip link set lo up 2>/dev/null
mkdir /sys/fs/cgroup/init
echo $$ >/sys/fs/cgroup/init/cgroup.procs
echo "+cpu +memory +pids +io" >/sys/fs/cgroup/cgroup.subtree_control
stty -F /dev/ttyS0 -opost 2>/dev/null
setsid bash /run/vm/run
echo o >/proc/sysrq-trigger
read -r -t 60 _ <>/dev/ttyS0
SCRIPT
  fi
}

# vm_qemu ACCEL MEMORY INITRD SHARE OUT SECONDS
vm_qemu() {
  timeout -k 5 "$6" qemu-system-x86_64 -accel "$([[ $1 == kvm ]] && echo kvm || echo tcg,thread=multi)" -cpu max,arch-capabilities=off \
    -smp "$(nproc | awk '{print ($1 > 4 ? 4 : $1)}')" -m "$2" -nodefaults -no-user-config -no-reboot \
    -display none -serial stdio -monitor none \
    -kernel "$vm_image" -initrd "$3" -append "console=ttyS0 quiet loglevel=3 panic=-1 no_timer_check mitigations=off systemd.unified_cgroup_hierarchy=1" \
    -fsdev "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap" \
    -device virtio-9p-pci,fsdev=host,mount_tag=host \
    -fsdev "local,id=share,path=$4,security_model=none" -device virtio-9p-pci,fsdev=share,mount_tag=share \
    -fsdev "local,id=out,path=$5,security_model=none" -device virtio-9p-pci,fsdev=out,mount_tag=out </dev/null
}

# Prints kvm or tcg. A device node proves nothing (nested virtualisation may hang): a guest that starts and powers off does.
vm_accel() {
  local answer share status=0
  if [[ ! -w /dev/kvm ]]; then echo tcg; return; fi
  if [[ ! -s $vm_cache/accel ]]; then
    share=$(mktemp -d "${TMPDIR:-/tmp}/bailiff-kvm.XXXXXX")
    mkdir "$share/out"
    vm_guest_files "$share" plain
    echo true >"$share/command"
    echo / >"$share/directory"
    vm_initrd "$share/initrd" plain
    vm_qemu kvm 1024 "$share/initrd" "$share" "$share/out" 10 >/dev/null 2>&1 || status=$?
    [[ $status == 0 && $(cat "$share/status" 2>/dev/null) == 0 ]] && answer=kvm || answer=tcg
    rm -rf "$share"
    echo "$answer $(cat /proc/sys/kernel/random/boot_id)" >"$vm_cache/accel"
  fi
  read -r answer _ <"$vm_cache/accel"
  echo "$answer"
}
