#!/usr/bin/env python3
"""A worker without an SDK: Python and its standard library.

    export STEPWELL_SERVER=http://127.0.0.1:8080 STEPWELL_TOKEN=swl_…
    examples/workers/worker.py greeter        # works until it is stopped
    examples/workers/worker.py greeter 3      # stops after three directives of the pool

It leases a few directives at a time, says that it has them, works on each in a thread, keeps them
while the work goes on, and reports what came of it. A directive may come twice: see "At least once"
in docs/workers.md.

Of a job of a workspace, one worker does all steps: the answer to a report holds the next directive.
"""

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

SERVER = os.environ.get("STEPWELL_SERVER", "http://127.0.0.1:8080")
TOKEN = os.environ["STEPWELL_TOKEN"]
VISIBILITY_SECONDS = 60
THREADS = 4
# What names an attempt, in acks, reports and signs of life.
NAMES = ("jobId", "stepId", "tenant_id", "attempt_no", "lease_id")


class Retryable(Exception):
    """Raise it when another attempt may help."""


def work(directive):
    """The work itself: a directive in, a result out, an exception if it cannot be done."""
    return {"greeting": f"hello, {directive['payload']['name']}"}


def post(path, body):
    """Posts JSON until the server takes it; what it refuses for good is raised."""
    request = urllib.request.Request(
        f"{SERVER}{path}",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )
    pause = 0.1
    while True:
        try:
            with urllib.request.urlopen(request, timeout=45) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 500, 502, 503, 504):
                raise
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            pass
        time.sleep(pause)
        pause = min(pause * 2, 5)


def job(leased):
    """Does a directive, and whatever the server hands on with the answer to its report."""
    directive = leased["directive"]
    post("/v1/workers/acks", {"acks": [attempt_of(directive)]})
    while directive:
        report = attempt_of(directive) | attempt(directive, leased["delivery"])
        [answer] = post("/v1/workers/results", {"results": [report]})["answers"]
        print(json.dumps({"applied": answer["applied"], "reason": answer.get("reason")}), flush=True)
        directive = answer.get("next", {}).get("directive")


def attempt_of(directive):
    return {name: directive[name] for name in NAMES}


def attempt(directive, delivery):
    """One attempt: keeps the directive while the work goes on; answers what came of it."""
    finished = threading.Event()
    threading.Thread(target=keep, args=(directive, delivery, finished), daemon=True).start()
    try:
        return {"status": "SUCCEEDED", "result": work(directive)}
    except Retryable as error:
        return failure("FAILED_RETRYABLE", error)
    except Exception as error:
        return failure("FAILED_FINAL", error)
    finally:
        finished.set()


def keep(directive, delivery, finished):
    """Three times within the time it is kept: a job of a workspace is kept by signs of life, any
    other directive by its delivery."""
    if "message" in directive:
        path, body = "/v1/workers/heartbeats", {"heartbeats": [attempt_of(directive)]}
    else:
        path = "/v1/workers/extend"
        body = {"deliveries": [delivery], "visibility_seconds": VISIBILITY_SECONDS}
    while not finished.wait(VISIBILITY_SECONDS / 3):
        post(path, body)


def failure(status, error):
    return {"status": status, "error": {"code": type(error).__name__, "message": str(error)}}


def main():
    pool = sys.argv[1]
    left = int(sys.argv[2]) if len(sys.argv) > 2 else None
    with ThreadPoolExecutor(THREADS) as threads:
        while left is None or left > 0:
            ask = {
                "max": THREADS if left is None else min(THREADS, left),
                "wait_seconds": 20,
                "visibility_seconds": VISIBILITY_SECONDS,
            }
            leased = post(f"/v1/workers/{pool}/lease", ask)["directives"]
            list(threads.map(job, leased))
            if left is not None:
                left -= len(leased)


if __name__ == "__main__":
    main()
