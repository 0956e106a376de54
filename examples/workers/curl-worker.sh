#!/usr/bin/env bash
# A worker without an SDK: curl and jq.
#
#   export STEPWELL_SERVER=http://127.0.0.1:8080 STEPWELL_TOKEN=swl_…
#   examples/workers/curl-worker.sh greeter        # works until it is stopped
#   examples/workers/curl-worker.sh greeter 3      # stops after three directives
#
# It leases one directive at a time, does the work, and posts what came of it to the URL that came
# with the directive. That URL carries the proof that belongs to this one attempt, so the report
# needs no token. A directive may come twice: see "At least once" in docs/workers.md.
set -euo pipefail

pool=${1:?name a pool: curl-worker.sh POOL [COUNT]}
count=${2:-0}
server=${STEPWELL_SERVER:-http://127.0.0.1:8080}
: "${STEPWELL_TOKEN:?set it to a token of role worker}"

# The token goes through a file descriptor, so that it never shows in the list of processes.
lease() {
    curl --silent --show-error --fail --max-time 45 \
        --header @<(printf 'Authorization: Bearer %s\n' "$STEPWELL_TOKEN") \
        --json '{"max": 1, "wait_seconds": 20, "visibility_seconds": 60}' \
        "$server/v1/workers/$pool/lease"
}

# The work itself: a directive on standard input, a JSON result on standard output.
work() {
    jq --compact-output '{greeting: ("hello, " + .payload.name)}'
}

# A report names its attempt: job, step, tenant, attempt and lease, as they came.
report() {
    local directive=$1 outcome=$2
    jq --compact-output --argjson outcome "$outcome" \
        '{jobId, stepId, tenant_id, attempt_no, lease_id} + $outcome' <<<"$directive" |
        curl --silent --show-error --fail --retry 5 --retry-connrefused --json @- \
            "$(jq --raw-output .callback_urls.result <<<"$directive")"
    echo
}

done=0
while [ "$count" -eq 0 ] || [ "$done" -lt "$count" ]; do
    if ! answer=$(lease); then
        sleep 1 # the server is away: wait for it
        continue
    fi
    directive=$(jq --compact-output '.directives[0].directive // empty' <<<"$answer")
    [ -n "$directive" ] || continue
    if result=$(work <<<"$directive"); then
        report "$directive" "{\"status\": \"SUCCEEDED\", \"result\": $result}"
    else
        error='{"code": "no_greeting", "message": "the payload has no name"}'
        report "$directive" "{\"status\": \"FAILED_FINAL\", \"error\": $error}"
    fi
    done=$((done + 1))
done
