-- A script with every metric, for metrics.sh.
local kubelua = require "kubelua"

kubelua.metric.counter("shop_orders_total", "Orders of a \"shop\".", { "shop" }):inc(1, 'a "b"\\\n')
kubelua.metric.gauge("shop_open", "Shops that are open."):set(3)
kubelua.metric.histogram("shop_seconds", "How long an order took."):observe(0.2)

kubelua.controller {
    "pods", name = "pods", leader = "pods",
    reconcile = function() print("all counted") return 3600 end,
}
