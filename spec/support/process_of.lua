-- Runs a Lua text in another process, with this interpreter and its paths; returns its output and
-- how it ended: "...\nstatus 0\n".

---@param text string
---@param environment string? "NAME=value NAME=value"
---@param errors string? a file for its standard error, which is then not in the result
---@return string
return function(text, environment, errors)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(string.format("package.path, package.cpath = %q, %q\n", package.path,
        package.cpath), text)
    file:close()
    local lua = rawget(_G, "jit") and "luajit" or "lua5.4"
    local pipe = io.popen(string.format("%s %s %s 2>%s; echo \"status $?\"", environment or "", lua,
        path, errors or "&1"))
    local said = pipe:read("*a")
    pipe:close()
    os.remove(path)
    return said
end
