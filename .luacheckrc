std = "min"
max_line_length = 100
unused_args = false
-- The type of a function is one line.
files["lua/kubelua/controller/options.lua"].max_comment_line_length = 120
files["lua/cli"].globals = { "arg", "kubelua" }
files["lua"].read_globals = { "jit", "setfenv", "unpack", table = { fields = { "unpack" } },
    package = { fields = { "searchpath", "searchers", "loaders" } } }
files["sim/lua"] = files["lua"]
files["program"] = files["lua"]
files["lua/resty"].std = "ngx_lua"
files["spec"].std = "min+busted"
files["spec"].read_globals = { "jit" }
files["spec"].globals = { "arg" }
files["sim/spec"] = files["spec"]
files["examples"].read_globals = { "arg", "kubelua" }
files["examples/*_spec.lua"].std = "min+busted"
files["spec/soak/shards"].read_globals = { "jit", "kubelua" }
files["spec/types/meta"].ignore = { "12", "212" }
files["spec/lint"].std = "lua54+busted"
files["bench/nginx/inside.lua"].std = "ngx_lua"
files["bench/gateway/probe.lua"].std = "ngx_lua"
