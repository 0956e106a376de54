#!/usr/bin/env pwsh
# A worker without an SDK: PowerShell 7.
#
#   $env:STEPWELL_SERVER = 'http://127.0.0.1:8080'; $env:STEPWELL_TOKEN = 'swl_…'
#   examples/workers/worker.ps1 -Pool greeter            # works until it is stopped
#   examples/workers/worker.ps1 -Pool greeter -Count 3   # stops after three directives of the pool
#
# It leases one directive at a time, says that it has it, does the work, and posts what came of it to the
# URLs that came with the directive. A directive may come twice: see "At least once" in docs/workers.md.
#
# Of a job of a workspace, one worker does all steps: the answer to a report holds the next directive.
param(
    [Parameter(Mandatory)] [string] $Pool,
    [int] $Count = 0
)

$ErrorActionPreference = 'Stop'
$server = $env:STEPWELL_SERVER ?? 'http://127.0.0.1:8080'
$headers = @{ Authorization = "Bearer $env:STEPWELL_TOKEN" }
$visibility = 60

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

# What names an attempt, in acks, reports and signs of life.
function Get-Attempt($directive) {
    @{
        jobId = $directive.jobId; stepId = $directive.stepId; tenant_id = $directive.tenant_id
        attempt_no = $directive.attempt_no; lease_id = $directive.lease_id
    }
}

# Keeps a directive until it is stopped: a job of a workspace by signs of life, any other by its delivery.
function Start-Keeping($directive, [string] $delivery) {
    if ($directive.message) {
        $uri, $body = "$server/v1/workers/heartbeats", @{ heartbeats = @(Get-Attempt $directive) }
    } else {
        $uri = "$server/v1/workers/extend"
        $body = @{ deliveries = @($delivery); visibility_seconds = $visibility }
    }
    Start-ThreadJob -ArgumentList $uri, ($body | ConvertTo-Json -Depth 4), $headers, $visibility {
        param($uri, $json, $headers, $visibility)
        while ($true) {
            Start-Sleep -Seconds ($visibility / 3)
            $call = @{ Method = 'Post'; Uri = $uri; Headers = $headers; Body = $json }
            try { Invoke-RestMethod @call -ContentType 'application/json' -TimeoutSec 15 } catch { }
        }
    }
}

# Does one directive; answers what the server says to the report.
function Invoke-Attempt($directive, [string] $delivery) {
    $report = Get-Attempt $directive
    $keeping = Start-Keeping $directive $delivery
    try {
        $report.result = Invoke-Work $directive
        $report.status = 'SUCCEEDED'
    } catch {
        $report.error = @{ code = 'work_failed'; message = "$_" }
        $report.status = 'FAILED_FINAL'
    } finally {
        $keeping | Stop-Job -PassThru | Remove-Job
    }
    Send-Json $directive.callback_urls.result $report
}

$done = 0
while ($Count -eq 0 -or $done -lt $Count) {
    $ask = @{ max = 1; wait_seconds = 20; visibility_seconds = $visibility }
    foreach ($leased in (Send-Json "$server/v1/workers/$Pool/lease" $ask $headers).directives) {
        $directive = $leased.directive
        $null = Send-Json $directive.callback_urls.ack (Get-Attempt $directive)
        while ($directive) {
            $answer = Invoke-Attempt $directive $leased.delivery
            $answer | Select-Object applied, reason | ConvertTo-Json -Compress
            $directive = $answer.next.directive
        }
        $done++
    }
}
