#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ranks and the daemon in name spaces, with small limits, and of another user:
# the same results by whatever way is left, or a clear refusal.
set -u

top_builddir=${top_builddir:-.}
member=$top_builddir/tests/daemon/member
agentd=$top_builddir/libqoffload/tools/qo_agentd
work=$(mktemp -d) || exit 99
daemon=
job=0
failed=0
trap 'test -z "$daemon" || kill -9 $daemon; rm -rf "$work"' EXIT

# The variables of whoever runs this must not change the answers.
for name in $(env | sed -n 's/^\(QO_[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done
QO_AGENT=process
QO_AGENT_PROGRAM=/nonexistent
QO_AGENT_TIMEOUT=5s
QO_CONNECT_TIMEOUT=10s
QO_COLL_ALLREDUCE=ring
QO_COLL_BCAST=chain
export QO_AGENT QO_AGENT_PROGRAM QO_AGENT_TIMEOUT QO_CONNECT_TIMEOUT
export QO_COLL_ALLREDUCE QO_COLL_BCAST

check() {
	if [ "$2" -eq 0 ]; then
		echo "ok: $1"
	else
		echo "not ok: $1"
		cat "$work"/out.* "$work"/daemon 2>/dev/null | sed 's/^/	/'
		failed=1
	fi
}

# may COMMAND..: whether this is permitted here, with this wrapper.
may() {
	"$@" true 2>/dev/null && return 0
	echo "skip: not permitted here: $*"
	return 1
}

# await SECONDS COMMAND..: until it succeeds.
await() {
	tries=$(($1 * 50))
	shift
	while [ $tries -gt 0 ]; do
		"$@" && return 0
		sleep 0.02
		tries=$((tries - 1))
	done
	return 1
}

# start NAME [WRAPPER..]: the daemon, at a name.
start() {
	QO_AGENT_SOCKET=$1
	export QO_AGENT_SOCKET
	shift
	: >"$work/daemon"
	"$@" "$agentd" --socket "$QO_AGENT_SOCKET" >"$work/daemon" 2>&1 &
	daemon=$!
	await 10 grep -q "listening at" "$work/daemon" && return 0
	echo "not ok: the daemon does not start"
	cat "$work/daemon"
	failed=1
	return 1
}

# stop: it ends with 0.
stop() {
	kill -TERM $daemon
	wait $daemon
	check "the daemon ends when it is told" $?
	daemon=
}

# pair TEXT WAY WRAPPER..: rank 0 as it is, rank 1 in the wrapper.  WAY is what
# the description of rank 1's operation must say.
pair() {
	text=$1 way=$2
	shift 2
	job=$((job + 1))
	timeout 60 "$member" "$work/job.$job" 0 2 >"$work/out.0" 2>&1 &
	first=$!
	timeout 60 "$@" "$member" "$work/job.$job" 1 2 >"$work/out.1" 2>&1
	second=$?
	wait $first && [ $second -eq 0 ] &&
		grep -q "kind 3, agent process.*$way" "$work/out.1"
	ok=$?
	check "$text: $(sed -n 's/.*agent process [0-9]*: //p' "$work/out.1")" \
		$ok
}

# All in one: with a shared folder, or the abstract name.
spaces() {
	pair "$1, no name space" "receive" env
	may unshare -Ur && pair "$1, a user of its own" "receive" unshare -Ur
	may unshare -p -f && pair "$1, process ids of its own" "receive" \
		unshare -p -f --kill-child
	may unshare -Ur -p -f && pair "$1, both" "receive" \
		unshare -Ur -p -f --kill-child
	may unshare -i && pair "$1, System V objects of its own" "receive" \
		unshare -i
	may unshare -Ur -m && pair "$1, a small /dev/shm" "receive" \
		unshare -Ur -m sh -c \
		'mount -t tmpfs -o size=64k none /dev/shm && exec "$@"' sh
	pair "$1, 64 KiB of locked memory" "receive" sh -c 'ulimit -l 64; exec "$@"' sh
}

if start "$work/socket"; then
	spaces "a path"
	QO_AGENT_MEMORY=stage
	export QO_AGENT_MEMORY
	pair "told to stage" "receive stage" env
	QO_AGENT_MEMORY=cross
	may unshare -p -f && pair "told to cross" "receive cross" unshare -p -f
	unset QO_AGENT_MEMORY
	stop
	[ -z "$(find "$work" -type s)" ]
	check "no socket is left" $?
fi

if start "@qo-test-space.$$"; then
	spaces "an abstract name"
	stop
fi

if start "@qo-test-limit.$$" sh -c 'ulimit -l 64; exec "$@"' sh; then
	pair "64 KiB of locked memory for the daemon" "receive" env
	stop
fi

# A daemon that may look into nobody's memory.
blind="setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace"
if [ "$(id -u)" -ne 0 ]; then
	echo "skip: not root: no way to take a capability from the daemon"
elif may $blind && start "@qo-test-blind.$$" $blind; then
	pair "a daemon that can't look into the ranks" "receive stage" env
	stop
fi

# Another user is refused, and told so; the daemon serves on.
other="setpriv --reuid=65534 --regid=65534 --clear-groups"
if [ "$(id -u)" -ne 0 ]; then
	echo "skip: not root: no way to be another user"
elif may $other && start "@qo-test-other.$$"; then
	mkdir "$work/other"
	chmod 0777 "$work/other"
	chmod 0711 "$work"
	if ! $other test -x "$member"; then
		echo "skip: another user can't run $member"
	else
		timeout 30 $other "$member" "$work/other/job" 0 1 \
			>"$work/out.0" 2>&1
		[ $? -eq 1 ]
		check "another user is refused" $?
		grep -q "another user" "$work/out.0"
		check "and told so" $?
	fi
	pair "the daemon serves on" "receive" env
	stop
fi

exit $failed
