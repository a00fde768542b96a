-- How emmylua_check reads examples/: as an editor of a user does, who has the modules as a library.
return {
    runtime = { version = "Lua5.4" },
    workspace = { library = { "../../lua", "../../sim/lua", "meta" } },
    strict = { requirePath = true },
    diagnostics = {
        globals = { "kubelua" },
        disable = {
            "need-check-nil",     -- a spec fails at a nil; a field that a script needs is there
            "unnecessary-if",     -- it does not follow a local that a loop assigns
            "unresolved-require", -- luv, and the files beside examples/nginx/rollout.lua
        },
    },
}
