#!/usr/bin/env bash
# A worker without an SDK: curl and jq.
#
#   export STEPWELL_SERVER=http://127.0.0.1:8080 STEPWELL_TOKEN=swl_…
#   examples/workers/curl-worker.sh greeter        # works until it is stopped
#   examples/workers/curl-worker.sh greeter 3      # stops after three directives of the pool
#
# It leases one directive at a time, says that it has it, does the work, and posts what came of it to
# the URLs that came with the directive. They carry the proof that belongs to this one attempt, so a
# report needs no token. A directive may come twice: see "At least once" in docs/workers.md.
#
# Of a job of a workspace, one worker does all steps: the answer to a report holds the next directive.
set -euo pipefail

pool=${1:?name a pool: curl-worker.sh POOL [COUNT]}
count=${2:-0}
server=${STEPWELL_SERVER:-http://127.0.0.1:8080}
: "${STEPWELL_TOKEN:?set it to a token of role worker}"
visibility=60
# What names an attempt, in acks, reports and signs of life.
names='{jobId, stepId, tenant_id, attempt_no, lease_id}'

# The work itself: a directive on standard input, a JSON result on standard output.
work() {
    jq --compact-output '{greeting: ("hello, " + .payload.name)}'
}

# Calls the server with a body. The token goes through a file descriptor, so that it never shows in
# the list of processes.
call() {
    curl --silent --show-error --fail --max-time 45 \
        --header @<(printf 'Authorization: Bearer %s\n' "$STEPWELL_TOKEN") \
        --json "$2" "$server/v1/workers/$1"
}

# Posts what is on standard input to one of the directive's own URLs, until the server takes it.
post() {
    curl --silent --show-error --fail --retry 5 --retry-connrefused --retry-all-errors --json @- \
        "$(jq --raw-output ".callback_urls.$1" <<<"$2")"
}

# Keeps the directive while its work goes on: a job of a workspace by signs of life, any other by its
# delivery.
keep() {
    local directive=$1 delivery=$2 path=extend body
    body="{\"deliveries\": [\"$delivery\"], \"visibility_seconds\": $visibility}"
    if jq --exit-status .message <<<"$directive" >/dev/null; then
        path=heartbeats body=$(jq --compact-output "{heartbeats: [$names]}" <<<"$directive")
    fi
    trap 'kill $(jobs -p); exit' TERM
    # Whoever is gone gives no sign of life: this ends with the worker, however that ended.
    while sleep $((visibility / 3)) & wait $! && kill -0 $$; do
        call "$path" "$body" || true # the server is away: the next call may reach it
    done
}

# Does one directive, and writes what the server answers to the report.
attempt() {
    local directive=$1 delivery=$2 outcome result keeper
    keep "$directive" "$delivery" >/dev/null 2>&1 &
    keeper=$!
    if result=$(work <<<"$directive"); then
        outcome="{\"status\": \"SUCCEEDED\", \"result\": $result}"
    else
        outcome='{"status": "FAILED_FINAL",
            "error": {"code": "no_greeting", "message": "the payload has no name"}}'
    fi
    kill "$keeper"
    jq --compact-output --argjson outcome "$outcome" "$names + \$outcome" <<<"$directive" |
        post result "$directive"
}

done=0
while [ "$count" -eq 0 ] || [ "$done" -lt "$count" ]; do
    ask="{\"max\": 1, \"wait_seconds\": 20, \"visibility_seconds\": $visibility}"
    if ! leased=$(call "$pool/lease" "$ask" | jq --compact-output '.directives[0] // empty'); then
        sleep 1 # the server is away: wait for it
        continue
    fi
    [ -n "$leased" ] || continue
    delivery=$(jq --raw-output .delivery <<<"$leased")
    directive=$(jq --compact-output .directive <<<"$leased")
    jq --compact-output "$names" <<<"$directive" | post ack "$directive" >/dev/null
    while [ -n "$directive" ]; do
        answer=$(attempt "$directive" "$delivery")
        jq --compact-output '{applied, reason}' <<<"$answer"
        directive=$(jq --compact-output '.next.directive // empty' <<<"$answer")
    done
    done=$((done + 1))
done
