# Runs the server given as arguments for as long as standard input stays open, and no longer: the pipe closes when the
# test process ends, however it ends. A line on standard input is the name of a signal for the server. The only line on
# standard output is the server's process id; what the server says goes to standard error.
exec 3<&0
"$@" </dev/null >&2 3<&- &
server=$!
echo "$server"
exec >&2
{
    # Who ends the test by a signal to all its processes must not end this one before the server.
    trap '' HUP INT TERM
    while read -r signal; do
        kill -s "$signal" "$server"
    done
    kill -s KILL "$server"
} <&3 2>/dev/null &
listener=$!
exec 3<&-
wait "$server"
status=$?
kill -s KILL "$listener" 2>/dev/null
exit "$status"
