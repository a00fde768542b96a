-- Headers that say where a message ends, or that hold for one connection: with another value, what
-- follows would be taken for the next request, or the next answer, of that connection.
local framing = {}
for name in ([[connection content-length keep-alive te trailer transfer-encoding
    upgrade]]):gmatch("%S+") do
    framing[name] = true
end

---@type table<string, boolean> by their names in lower case
return framing
