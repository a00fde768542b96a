-- Follows what comments and documents cite: a page of this repository, a heading of it, a source
-- file, the name of a function or spec. Fails where that does not exist, and where a page outside
-- of the repository is cited by a code, which is a letter and a number. Usage, in the root of the
-- tree: lua5.4 spec/lint/citations.lua
package.path = (arg and arg[0] or ""):gsub("[^/]*$", "") .. "?.lua;spec/lint/?.lua;" .. package.path
local cited_names = require "cited_names"
local comments = require "comments"
local tree = require "tree"

local citations = {}

-- Names of curves, which are no codes.
local NO_CODES = { ["P-224"] = true, ["P-256"] = true, ["P-384"] = true, ["P-521"] = true }

-- Folders whose files a comment may cite by their whole path.
local FOLDERS = { core = true, lua = true, sim = true, spec = true, bench = true, docs = true,
    examples = true, scripts = true, cmake = true }

-- The anchor that GitHub gives a heading: small letters and digits, blanks become "-".
local function anchor_of(heading)
    local text = heading:gsub("`", ""):gsub("%[(.-)%]%b()", "%1"):gsub("%s+$", ""):lower()
    return (text:gsub("[^%w%s_\128-\255-]", ""):gsub("%s", "-"))
end

---The anchors of a document.
---@param text string in Markdown
---@return table<string, true>
function citations.anchors(text)
    local anchors, counts, is_code = {}, {}, false
    for line in (text .. "\n"):gmatch("([^\n]*)\n") do
        if line:find("^%s*```") then
            is_code = not is_code
        end
        local heading = not is_code and line:match("^#+%s+(.*)$")
        if heading then
            local anchor = anchor_of(heading)
            local count = counts[anchor] or 0
            counts[anchor] = count + 1
            anchors[count == 0 and anchor or anchor .. "-" .. count] = true
        end
    end
    return anchors
end

-- "docs/../core/a" without the detour.
local function plain(path)
    local parts = {}
    for part in path:gmatch("[^/]+") do
        if part == ".." then
            table.remove(parts)
        elseif part ~= "." then
            parts[#parts + 1] = part
        end
    end
    return table.concat(parts, "/")
end

---@class lint.Citations
---@field tree lint.Tree
---@field anchors_of table<string, table<string, true>> by path
---@field breaches string[]
---@field told table<string, true> the same as a set
---@field known table<string, true> files and folders
local Check = {}
Check.__index = Check

function Check:breach(path, line, message, ...)
    local breach = string.format("%s:%d: " .. message, path, line, ...)
    if not self.told[breach] then
        self.breaches[#self.breaches + 1] = breach
        self.told[breach] = true
    end
end

-- A folder counts too.
function Check:exists(path)
    return self.known[path] ~= nil
end

function Check:check_anchor(path, line, target, anchor)
    if not self.anchors_of[target] then
        self.anchors_of[target] = citations.anchors(self.tree.read(target) or "")
    end
    if not self.anchors_of[target][anchor] then
        self:breach(path, line, "%s has no heading #%s", target, anchor)
    end
end

-- A page that is cited by its name, from the root or from the folder of the file.
function Check:check_page(path, line, name, anchor)
    local folder = path:match("^(.*)/[^/]*$")
    local target = self:exists(name) and name
        or (folder and self:exists(plain(folder .. "/" .. name)) and plain(folder .. "/" .. name))
    if not target then
        self:breach(path, line, "there is no page %s", name)
    elseif anchor then
        self:check_anchor(path, line, target, anchor)
    end
end

-- [text](target) and [text](target#anchor) in a document.
function Check:check_link(path, line, target)
    local name, anchor = target:match("^([^#]*)#?(.*)$")
    if target:find("^%w+:") then
        return
    end
    local folder = path:match("^(.*)/[^/]*$")
    local page = name == "" and path or plain((folder and folder .. "/" or "") .. name)
    if not self:exists(page) then
        self:breach(path, line, "the link to %s leads nowhere", target)
    elseif anchor ~= "" and page:find("%.md$") then
        self:check_anchor(path, line, page, anchor)
    end
end

function Check:check_codes(path, line, text)
    for before, code in text:gmatch("()(%f[%w][ACFIKLPQRSTVW]%-%d+%f[%W])") do
        local is_inside = text:sub(before - 1, before - 1):find("[-_.%w]")
        if not is_inside and not NO_CODES[code] and not text:find("^%-", before + #code) then
            self:breach(path, line, "%s is a code of a page that is not here", code)
        end
    end
    local reference = text:match("%f[%w]reference %d+%.%d") or text:match("ARCHITECTURE")
    if reference then
        self:breach(path, line, "'%s' is a page that is not here", reference)
    end
end

function Check:check_paths(path, line, text)
    for before, cited in text:gmatch("()([%w_][%w_/.-]+%.%l+)%f[^%w_/*?-]") do
        local folder = cited:match("^(%w+)/")
        local former = text:sub(before - 1, before - 1)
        if FOLDERS[folder] and not former:find("[%w_/*.<-]") and not cited:find("%.md$")
            and not self:exists(cited) and not self:exists(cited .. ".in")
            and not self:exists("core/include/kubelua/" .. cited) then
            self:breach(path, line, "there is no file %s", cited)
        end
    end
end

function Check:check_pages(path, line, text)
    for before, name, after in text:gmatch("()([%w_/.-]+%.md)()%f[^%w_]") do
        if not text:sub(before - 1, before - 1):find("[%w:/]") then
            self:check_page(path, line, name, text:match("^#([%w_-]+)", after))
        end
    end
end

-- Without code blocks, whose lines stay, and without addresses.
local function prose(text, is_document)
    if is_document then
        text = text:gsub("```.-```", function(code) return (code:gsub("[^\n]", "")) end)
    end
    return (text:gsub("%a+://[^%s)>\"'`]+", ""))
end

local function each_line(comment, f)
    local line = comment.line
    for text in (comment.text .. "\n"):gmatch("([^\n]*)\n") do
        f(line, text)
        line = line + 1
    end
end

-- What a program prints may cite a page too. Specs of lints cite what is not there.
function Check:check_strings(path, text)
    if path:find("^spec/lint/.*_spec%.lua$") then
        return
    end
    local line = 1
    for piece in (text .. "\n"):gmatch("([^\n]*)\n") do
        for name in piece:gmatch("%f[%w]docs/[%w_-]+%.md") do
            if not self:exists(name) then
                self:breach(path, line, "there is no page %s", name)
            end
        end
        line = line + 1
    end
end

function Check:check_file(path, text)
    local is_document = path:find("%.md$") ~= nil
    if not is_document then
        self:check_strings(path, text)
    end
    for _, comment in ipairs(comments.of(path, text)) do
        each_line({ line = comment.line, text = prose(comment.text, is_document) },
            function(line, words)
                if is_document then
                    for target in words:gmatch("%]%(([^)%s]+)%)") do
                        self:check_link(path, line, target)
                    end
                    words = words:gsub("%]%b()", "]")
                end
                self:check_pages(path, line, words)
                self:check_paths(path, line, words)
                self:check_codes(path, line, words)
            end)
    end
end

---The citations of a tree that lead nowhere, a line of text each.
---@param files lint.Tree
---@return string[]
function citations.check(files)
    local self = setmetatable({
        tree = files, anchors_of = {}, breaches = {}, told = {}, known = {},
    }, Check)
    for _, path in ipairs(files.paths) do
        self.known[path] = true
        for folder in path:gmatch("()/") do
            self.known[path:sub(1, folder - 1)] = true
        end
    end
    for _, path in ipairs(files.paths) do
        local text = files.read(path)
        if text then
            self:check_file(path, text)
        end
    end
    cited_names.check(files, function(...)
        self:breach(...)
    end)
    return self.breaches
end

if arg and (arg[0] or ""):find("citations%.lua$") then
    local breaches = citations.check(tree.here())
    for _, breach in ipairs(breaches) do
        print(breach)
    end
    print(#breaches == 0 and "All citations lead somewhere."
        or #breaches .. " citations lead nowhere")
    os.exit(#breaches == 0)
end

return citations
