-- What error.log says if a worker cannot watch the cluster, although the script does not look at
-- the result of kube.init_worker.
local nginx = require "nginx"

describe("kube.init_worker", function()
    local one

    after_each(function()
        if one then
            one:close()
            one = nil
        end
    end)

    it("logs why the worker cannot connect", function()
        one = nginx.start {
            workers = 1,
            http = [[
                init_by_lua_block {
                    kube = require "resty.kubelua"
                    assert(kube.init { connect = { kubeconfig = "/no/such/kubeconfig" } })
                }
                init_worker_by_lua_block { kube.init_worker { wait = 5 } }
            ]],
            server = [[
                location / { content_by_lua_block { ngx.say((select(2, kube.pick("web/shop")))) } }
            ]],
        }
        assert.equal(1, one:count("/no/such/kubeconfig"))
        assert.equal("not_synced", (select(2, one:get("/"))))
    end)
end)
