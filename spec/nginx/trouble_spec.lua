-- What error.log says if kube.init or kube.init_worker fails, although the script does not look at
-- the result.
local eventually = require "eventually"
local nginx = require "nginx"

describe("resty.kubelua", function()
    local one

    after_each(function()
        if one then
            one:close()
            one = nil
        end
    end)

    it("refuses kube.init in a worker, where the map would be of that worker alone", function()
        one = nginx.start { workers = 2, http = [[
            init_worker_by_lua_block {
                local kube = require "resty.kubelua"
                assert(kube.init { services = false })
                assert(kube.init_worker())
            }
        ]] }
        eventually(function() return one:count("call it in init_by_lua") == 2 end, "both say so")
    end)

    it("logs why a worker cannot connect", function()
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
