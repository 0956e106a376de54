#!/usr/bin/env pwsh
# A worker without an SDK: PowerShell 7.
#
#   $env:STEPWELL_SERVER = 'http://127.0.0.1:8080'; $env:STEPWELL_TOKEN = 'swl_…'
#   examples/workers/worker.ps1 -Pool greeter            # works until it is stopped
#   examples/workers/worker.ps1 -Pool greeter -Count 3   # stops after three directives
#
# It leases one directive at a time, does the work, and posts what came of it to the URL that came
# with the directive. A directive may come twice: see "At least once" in docs/workers.md.
param(
    [Parameter(Mandatory)] [string] $Pool,
    [int] $Count = 0
)

$ErrorActionPreference = 'Stop'
$server = $env:STEPWELL_SERVER ?? 'http://127.0.0.1:8080'
$headers = @{ Authorization = "Bearer $env:STEPWELL_TOKEN" }

# The work itself: a directive in, a result out, an exception if it cannot be done.
function Invoke-Work($directive) {
    if (-not $directive.payload.name) { throw 'the payload has no name' }
    @{ greeting = "hello, $($directive.payload.name)" }
}

function Send-Json([string] $uri, $body, $headers = @{}) {
    $json = $body | ConvertTo-Json -Depth 32 -Compress
    Invoke-RestMethod -Method Post -Uri $uri -Headers $headers -Body $json `
        -ContentType 'application/json' -TimeoutSec 45 -MaximumRetryCount 5 -RetryIntervalSec 1
}

$done = 0
while ($Count -eq 0 -or $done -lt $Count) {
    $ask = @{ max = 1; wait_seconds = 20; visibility_seconds = 60 }
    foreach ($leased in (Send-Json "$server/v1/workers/$Pool/lease" $ask $headers).directives) {
        $directive = $leased.directive
        # A report names its attempt: job, step, tenant, attempt and lease, as they came.
        $report = @{
            jobId = $directive.jobId; stepId = $directive.stepId; tenant_id = $directive.tenant_id
            attempt_no = $directive.attempt_no; lease_id = $directive.lease_id
        }
        try {
            $report.result = Invoke-Work $directive
            $report.status = 'SUCCEEDED'
        } catch {
            $report.error = @{ code = 'work_failed'; message = "$_" }
            $report.status = 'FAILED_FINAL'
        }
        Send-Json $directive.callback_urls.result $report | ConvertTo-Json -Compress
        $done++
    }
}
