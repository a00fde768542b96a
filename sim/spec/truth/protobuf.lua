-- Answers in protobuf, as JSON: what is compared is what they say. The program that reads them
-- (protobuf_json.c) is built with the specs.
local protobuf = {}

local TYPE = "^application/vnd%.kubernetes%.protobuf"
local PROGRAM = (os.getenv("KUBELUA_BUILD") or "build") .. "/sim/spec/protobuf_json"

---So many frames of a watch from a pipe, as they are; all that come, without a number.
function protobuf.read_frames(pipe, count)
    local read = {}
    while not count or #read < 2 * count do
        local head = pipe:read(4)
        if not head or #head < 4 then
            break
        end
        local a, b, c, d = head:byte(1, 4)
        local length = ((a * 256 + b) * 256 + c) * 256 + d
        read[#read + 1] = head
        read[#read + 1] = length > 0 and pipe:read(length) or ""
    end
    return table.concat(read)
end

---True if the headers of an answer say that it is a watch in protobuf.
function protobuf.is_watch(headers)
    local media = headers["content-type"] or ""
    return media:match(TYPE) ~= nil and media:match(";stream=watch$") ~= nil
end

---Makes the body of an answer JSON, if it is protobuf: a line for an object or for each event.
---@param folder string for a file
function protobuf.decode(reply, folder)
    if not (reply.headers["content-type"] or ""):match(TYPE) or reply.body == "" then
        return
    end
    local path = folder .. "/protobuf"
    local file = assert(io.open(path, "wb"))
    assert(file:write(reply.body))
    assert(file:close())
    local mode = protobuf.is_watch(reply.headers) and "watch" or "object"
    local pipe = assert(io.popen(("'%s' %s <'%s' 2>&1"):format(PROGRAM, mode, path)))
    reply.body = pipe:read("*a")
    pipe:close()
    os.remove(path)
end

return protobuf
