-- Who may read /metrics, by the configurations that people copy: docs/NGINX.md and examples/nginx.
local copies = require "nginx_copies"
local nginx = require "nginx"
local page = require "page"

describe("/metrics", function()
    local one

    after_each(function()
        one:close()
    end)

    local function status_from(address)
        return copies.shell(string.format("curl -s -o /dev/null -w '%%{http_code}' --interface %s "
            .. "http://127.0.0.1:%d/metrics", address, one.port))
    end

    for _, path in ipairs { "docs/NGINX.md", "examples/nginx/nginx.conf" } do
        it("answers this machine, and no other, by " .. path, function()
            local location = assert(page.read(path):match("location = /metrics (%b{})"))
            one = nginx.start {
                http = [[
                    init_by_lua_block {
                        kube = require "resty.kubelua"
                        assert(kube.init { connect = { server = "http://127.0.0.1:1" } })
                    }
                ]],
                server = "location / { return 200; } location = /metrics " .. location,
            }
            assert.equal("200", status_from("127.0.0.1"))
            assert.equal("403", status_from("127.0.0.2"))
        end)
    end
end)
