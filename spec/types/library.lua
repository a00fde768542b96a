-- How emmylua_check reads lua/: only what users' editors show of it, the annotations, decides. The
-- code below them is luacheck's.
return {
    runtime = { version = "LuaJIT" },
    workspace = { library = { "../../sim/lua", "meta" } },
    diagnostics = {
        disable = {
            "access-invisible", "assign-type-mismatch", "await-in-sync", "call-non-callable",
            "duplicate-set-field", "generic-constraint-mismatch", "global-in-non-module",
            "inject-field", "iter-variable-reassign", "missing-fields", "need-check-nil",
            "param-type-mismatch", "return-type-mismatch", "undefined-field", "undefined-global",
            "unnecessary-if", "unresolved-require",
            "duplicate-type", -- a class of several files, as the Lua language server merges them
        },
    },
}
