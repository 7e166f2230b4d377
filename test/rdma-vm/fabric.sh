# Several hosts in one guest; source it. rxe of 6.1 routes and receives in the first network namespace only, so all rxe netdevs
# stay there, and policy routing makes their traffic leave one veth and come in at another, instead of being cut short through
# lo. The other ends sit in the namespace "sw": one bridge per subnet, and an optional router.
fabric_init() {
  ip netns add sw; ip -n sw link set lo up
  local i
  for i in all default; do
    echo 0 >/proc/sys/net/ipv4/conf/$i/rp_filter; echo 1 >/proc/sys/net/ipv4/conf/$i/accept_local
    echo 1 >/proc/sys/net/ipv4/conf/$i/arp_ignore; echo 2 >/proc/sys/net/ipv4/conf/$i/arp_announce
  done
  ip rule add pref 1000 lookup local; ip rule del pref 0 # local after our rules
  fabric_count=0
}
fabric_bridge() { ip -n sw link show "$1" >/dev/null 2>&1 || { ip -n sw link add "$1" type bridge; ip -n sw link set "$1" up; }; }
# fabric_port IFNAME BRIDGE: a veth whose far end is a port of the bridge
fabric_port() { ip link add "$1" type veth peer name "p$1" netns sw; ip -n sw link set "p$1" up; fabric_bridge "$2"; ip -n sw link set "p$1" master "$2"; }
# fabric_addr IFNAME IP PREFIXLEN: address and this interface's own routes
fabric_addr() {
  local n=$((++fabric_count)) setting net
  ip link set "$1" up; ip addr add "$2/$3" dev "$1" noprefixroute
  for setting in rp_filter:0 accept_local:1 arp_ignore:1 arp_announce:2; do echo ${setting#*:} >/proc/sys/net/ipv4/conf/$1/${setting%:*}; done
  ip rule add pref $((100 + n)) iif "$1" lookup local         # coming in: deliver here
  ip rule add pref $((200 + n)) oif "$1" lookup $((100 + n))  # rxe sets oif: this table only
  net=$(python3 -Sc "import ipaddress; print(ipaddress.ip_network('$2/$3', strict=False))")
  ip route add "$net" dev "$1" src "$2" table $((100 + n))
}
# gid_index DEVICE IPV4: waits (5 s) for the address in the device's GID table, prints its index
gid_index() {
  local hex file n
  hex=$(printf '%02x%02x:%02x%02x' ${2//./ })
  for n in 1 2 3 4 5 6 7 8 9 10; do
    file=$(grep -ls "^0000:0000:0000:0000:0000:ffff:$hex\$" /sys/class/infiniband/"$1"/ports/1/gids/*) && { echo "${file##*/}"; return; }
    sleep 0.5
  done
  echo "no GID for $2 on $1" >&2; return 1
}
# wait_active DEVICE...: until every port is ACTIVE (10 s)
wait_active() {
  local device state n
  for device in "$@"; do
    for n in $(seq 40); do
      read -r state </sys/class/infiniband/"$device"/ports/1/state
      [ "$state" = "4: ACTIVE" ] && continue 2
      sleep 0.25
    done
    echo "$device is $state" >&2; return 1
  done
}
# pci_places DEVICE...: gives HCAs a device path in sysfs (some of this machine's PCI devices), which rxe lacks, and which NCCL's
# topology search wants and 2.20-2.23 crash without
pci_places() {
  local device place real file
  local -a places
  mapfile -t places < <(ls -d /sys/bus/pci/devices/* | tail -n +3)
  mkdir -p /tmp/infiniband
  for device in "$@"; do
    place=${places[0]}; places=("${places[@]:1}")
    mkdir -p "/tmp/infiniband/$device"
    real=$(realpath "/sys/class/infiniband/$device")
    for file in "$real"/*; do ln -s "$file" "/tmp/infiniband/$device/"; done
    ln -sfn "$(realpath "$place")" "/tmp/infiniband/$device/device"
  done
  mount --bind /tmp/infiniband /sys/class/infiniband
}
