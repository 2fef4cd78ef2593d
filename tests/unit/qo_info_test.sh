#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What qo_info promises: docs/config.md is its output, its answers are right
# for a described machine, and bad input ends it with status 2 and one line.
set -u

info=${QO_INFO:-$top_builddir/libqoffload/tools/qo_info}
agentd=${QO_AGENTD:-$top_builddir/libqoffload/tools/qo_agentd}
work=$(mktemp -d) || exit 99
trap 'end_daemon; rm -rf "$work"' EXIT
failed=0
daemon=

# start_daemon OPTION..: one at $socket; waits until it listens.
socket=$work/agentd
start_daemon() {
	mkfifo "$work/said" 2>/dev/null
	"$agentd" --socket="$socket" "$@" >"$work/said" &
	daemon=$!
	read -r line <"$work/said"
	[ "$line" = "qo_agentd: listening at $socket" ]
}

end_daemon() {
	[ -z "$daemon" ] && return
	kill -CONT "$daemon" 2>/dev/null
	kill -TERM "$daemon" 2>/dev/null
	wait "$daemon"
	set -- $?
	daemon=
	return "$1"
}

# The variables of whoever runs this must not change the answers.
for name in $(env | sed -n 's/^\(QO_[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done
# Nor may a daemon that happens to run.
QO_AGENT_SOCKET=$socket
export QO_AGENT_SOCKET

check() {
	if [ "$2" -eq 0 ]; then
		echo "ok: $1"
	else
		echo "not ok: $1"
		failed=1
	fi
}

# expect_line TEXT LINE: the output file has this line, spaces aside.
expect_line() {
	tr -s ' ' <"$work/out" | grep -qxF " $2"
	check "$1" $?
}

"$info" -c >"$work/config.md"
diff -u "$top_srcdir/docs/config.md" "$work/config.md"
check "docs/config.md is the output of qo_info -c" $?

QO_AGENT=nonsense "$info" -c | cmp -s - "$work/config.md"
check "the tables do not depend on what is set" $?

HWLOC_SYNTHETIC="pack:2 l3:2 core:4 pu:2" "$info" -t -r 3 >"$work/out"
check "a described machine is described" $?
expect_line "it is said to be a described one" "machine described"
expect_line "its caches are counted" "last_level_caches 4"
expect_line "the agent gets the next core of the cache" "agent_cpu 4"

HWLOC_SYNTHETIC="pu:1" "$info" -t -r 0 >"$work/out"
expect_line "a shared core is warned of" \
	"warning the agent and the rank share a core"

HWLOC_SYNTHETIC="core:4 pu:1" QO_AGENT_CPU=none "$info" -t >"$work/out"
expect_line "none does not pin" "agent_cpu -1"

# Field case A4, part 2, with the affinity that the process really has.
cpu=$("$info" -t | sed -n 's/^ *allowed_cpus *\([0-9]*\).*/\1/p')
if taskset -c "$cpu" true 2>/dev/null; then
	QO_AGENT_CPU=65535 taskset -c "$cpu" "$info" -t >"$work/out" \
		2>"$work/err"
	check "a cpu outside of the affinity does not end it" $?
	expect_line "one of the affinity is taken" "agent_cpu $cpu"
	expect_line "the answer warns" "warning the cpu asked for is not allowed"
	grep -q "^qo: warn agent cpu 65535 is outside of the allowed set $cpu;" \
		"$work/err"
	check "the log warns" $?
fi

QO_AGENT_CPU=first "$info" -t >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
	grep -q "QO_AGENT_CPU=first: want" "$work/err"
check "a wrong variable is named in one line, with status 2" $?

"$info" --rank-cpu=x >/dev/null 2>"$work/err"
[ $? -eq 2 ] && grep -q "want a cpu number" "$work/err"
check "a wrong option ends with status 2" $?

"$info" -v --no-such >/dev/null 2>&1
[ $? -eq 2 ]
check "an unknown option ends with status 2" $?

"$info" -a >"$work/out"
check "the agent answers" $?
grep -q "kind *thread" "$work/out"
check "the agent is a thread unless told otherwise" $?

if taskset -c "$cpu" true 2>/dev/null; then
	QO_AGENT_CPU=$cpu "$info" -a >"$work/out"
	expect_line "the agent is where it was asked to be" "cpu $cpu"
	expect_line "the system says so too" "bound_to $cpu"
fi

QO_AGENT=inline "$info" -a >"$work/out"
grep -q "progress *no async progress" "$work/out"
check "an inline agent is said to have no async progress" $?

if "$PYTHON" -c 'import json' 2>/dev/null; then
	"$info" --json >"$work/out"
	"$PYTHON" - "$work/out" <<-'END'
	import json, sys
	with open(sys.argv[1]) as stream:
	    answer = json.load(stream)
	names = {"version", "topology", "agent", "config", "probe"}
	assert set(answer) == names, sorted(answer)
	assert answer["probe"]["width_8_bytes"]["torn"] == 0, answer["probe"]
	agent = {v["name"]: v for v in answer["config"]["Agent"]}
	assert agent["QO_AGENT_SPIN_NS"]["value"] == "20us", agent
	END
	check "--json is JSON and has all sections" $?
fi

"$info" --check >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
	grep -q "no daemon listens at $socket" "$work/err"
check "--check tells in one line when no daemon is there" $?

"$info" -s >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && [ ! -s "$work/out" ]
check "-s without a daemon is a failure" $?

start_daemon --idle=block
check "a daemon says where it listens" $?

"$info" --check >"$work/out" 2>"$work/err" && [ ! -s "$work/err" ]
check "--check is content with a fresh daemon" $?
grep -q "^qo_agentd at $socket, process $daemon: ok, 0 clients" "$work/out"
check "--check says which daemon it is" $?

QO_AGENT_SOCKET=$work/none "$info" -s --socket="$socket" >"$work/out"
expect_line "-s asks the daemon that --socket names" "pid $daemon"
expect_line "-s shows how it idles" "idle block"
grep -A 1 "^  clients:" "$work/out" | grep -q "none"
check "an observer is no client" $?
expect_line "nor was it ever one" "clients_ever 0"
expect_line "nor has it posted anything" "posts 0"

"$info" -a >"$work/out"
expect_line "a context takes the daemon that is there" "kind process"
expect_line "and says which one it is" "agent_pid $daemon"
grep -q "^  memory  *qo_mem_alloc map, other " "$work/out"
check "and how it gets at memory" $?

QO_AGENT=thread "$info" -a >"$work/out"
expect_line "but not when told otherwise" "kind thread"

"$info" -s >"$work/out"
expect_line "the client has left" "clients_now 0"
expect_line "it is remembered" "clients_ever 1"
expect_line "it was not lost" "clients_lost 0"

kill -STOP "$daemon"
"$info" --check >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && grep -q "says nothing for 5 s" "$work/err"
check "--check gives up on a daemon that is stopped" $?
kill -CONT "$daemon"
"$info" --check >/dev/null
check "--check is content when it goes on" $?

"$agentd" --socket="$socket" >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && [ ! -s "$work/out" ] &&
	grep -q "listens there already" "$work/err"
check "a second daemon is refused" $?

end_daemon
check "SIGTERM ends a daemon with status 0" $?
[ ! -e "$socket" ]
check "its socket is gone" $?

start_daemon && kill -KILL "$daemon" && ! wait "$daemon" 2>/dev/null &&
	[ -S "$socket" ] && start_daemon && "$info" --check >/dev/null
check "one that was killed is replaced at the same path" $?
end_daemon

for option in --no-such --jobs=-1 --jobs=x --drain=1e9 --idle=never --socket= \
	--cpu=first surplus; do
	"$agentd" "$option" >"$work/out" 2>"$work/err" </dev/null
	[ $? -eq 2 ] && [ ! -s "$work/out" ] && [ -s "$work/err" ]
	check "qo_agentd $option ends with status 2" $?
done

"$info" -v >/dev/full 2>/dev/null
[ $? -eq 1 ]
check "a full output is a failure" $?

exit "$failed"
