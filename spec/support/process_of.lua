-- What a process of its own says that runs a text with the interpreter of this one and its paths,
-- and how it ended: "...\nstatus 0\n".
return function(text)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(string.format("package.path, package.cpath = %q, %q\n", package.path,
        package.cpath), text)
    file:close()
    local lua = rawget(_G, "jit") and "luajit " or "lua5.4 "
    local pipe = io.popen(lua .. path .. " 2>&1; echo \"status $?\"")
    local said = pipe:read("*a")
    pipe:close()
    os.remove(path)
    return said
end
