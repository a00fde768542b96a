-- What holds where a Service's settings do not say it.
return {
    max_fails = 1, fail_timeout = 10, -- as nginx; seconds
    slow_start = { least_conn = 10, ewma = 10 }, -- seconds, by balancer
}
