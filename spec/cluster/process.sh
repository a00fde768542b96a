# Processes that outlive the script which started them; sourced by cluster.sh.
# DIR/NAME.pid holds "PID BIRTH": the kernel's start time of the process keeps
# a number that was given away again from being killed for it.

# birth PID: its start time; fails when it is gone or a zombie. One whose other
# threads are still dying is neither: its sockets are open until they are dead.
birth() {
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    # What follows the name, which may hold blanks: state ppid pgrp ..., the
    # number of threads 18th, the start time 20th.
    # shellcheck disable=SC2086 # split into fields
    set -- ${stat##*) }
    if [ "$1" = Z ] && [ "${18}" -le 1 ]; then
        return 1
    fi
    echo "${20}"
}

# lives PID BIRTH
lives() {
    [ "$(birth "$1")" = "$2" ]
}

# runs NAME: whether what launch started under this name still lives.
runs() {
    pid='' born=''
    { read -r pid born <"$dir/$1.pid"; } 2>/dev/null || return 1
    lives "$pid" "$born"
}

# launch NAME COMMAND...: in a session of its own, its output in DIR/NAME.log,
# without our descriptors: a pipe to our caller would never end.
launch() {
    name=$1
    shift
    setsid "$@" </dev/null >>"$dir/$name.log" 2>&1 \
        3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    pid=$!
    born=$(birth "$pid") || born=gone
    echo "$pid $born" >"$dir/$name.pid"
}

# finish SIGNAL SECONDS PID BIRTH: signals the session of a process and waits
# for its end; after that time it is killed.
finish() {
    signal=$1 turns=$(($2 * 20)) pid=$3 born=$4
    while lives "$pid" "$born"; do
        [ "$turns" -gt 0 ] || signal=KILL
        if [ -n "$signal" ]; then
            kill -s "$signal" -- "-$pid" 2>/dev/null || true
            signal=''
        fi
        turns=$((turns - 1))
        sleep 0.05
    done
}

# end SIGNAL NAME...: ends what runs under these names.
end() {
    how=$1
    shift
    for name in "$@"; do
        if runs "$name"; then
            finish "$how" 20 "$pid" "$born"
        fi
        rm -f "$dir/$name.pid"
    done
}

# free_port: below the ports that the kernel gives to outgoing connections, so
# that none of those takes it while kube-apiserver is down. Another program may
# still be faster: a caller that binds it must be ready to try another port.
free_port() {
    while :; do
        port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
        hex=$(printf ':%04X 0*:0000 0A' "$port")
        cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q "$hex" || break
    done
    echo "$port"
}
