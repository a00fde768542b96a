-- Man pages, and completion for shells, made from the parser of the command line: kubelua man,
-- kubelua completion, and the files that an installation has.
local manual = {}

-- The text as roff shows it.
local function escape(text)
    text = text:gsub("\\", "\\e"):gsub("%-", "\\-")
    return (text:gsub("^[.']", "\\&%0"):gsub("\n([.'])", "\n\\&%1"))
end

local function bold(text)
    return "\\fB" .. escape(text) .. "\\fR"
end

-- "-n, --namespace NS": argparse's label, its names in bold, its values in italics.
local function label(element)
    local text = table.concat(element:_get_label_lines(), " "):gsub("%s+", " "):gsub("^ ", "")
    return (escape(text):gsub("[^%s,]+", function(word)
        return (word:find("^\\%-") and "\\fB" or "\\fI") .. word .. "\\fR"
    end))
end

local function add_elements(lines, title, elements)
    local is_first = true
    for _, element in ipairs(elements) do
        if not element._hidden and element:_get_description() ~= "" then
            if is_first then
                lines[#lines + 1] = ".SH " .. title
            end
            is_first = false
            lines[#lines + 1] = ".TP\n" .. label(element) .. "\n"
                .. escape(element:_get_description())
        end
    end
end

local function add_commands(lines, parser)
    if #parser._commands == 0 then
        return
    end
    lines[#lines + 1] = ".SH COMMANDS"
    for _, command in ipairs(parser._commands) do
        lines[#lines + 1] = ".TP\n" .. bold(command._name) .. "\n"
            .. escape(command:_get_description())
    end
end

-- The commands of a command, such as kubelua gateway check: each with a section of its own.
local function add_nested(lines, parser, add_epilog)
    for _, command in ipairs(parser._commands) do
        if not command._is_help_command then
            local name = ("%s %s"):format(parser._name, command._name):upper()
            lines[#lines + 1] = ".SH " .. escape(name)
            lines[#lines + 1] = bold((command:get_usage():gsub("^Usage: ", "")
                :gsub("%s*\n%s*", " ")))
            add_elements(lines, name .. ": ARGUMENTS", command._arguments)
            add_elements(lines, name .. ": OPTIONS", command._options)
            add_epilog(lines, command._epilog)
        end
    end
end

-- The end of a help text: examples, or remarks.
local function add_epilog(lines, epilog)
    if not epilog then
        return
    end
    local examples, count = epilog:gsub("^For example: +", "")
    lines[#lines + 1] = count > 0 and ".SH EXAMPLES" or ".SH NOTES"
    lines[#lines + 1] = ".nf"
    for line in examples:gmatch("[^\n]+") do
        lines[#lines + 1] = escape((line:gsub("^%s+", "")))
    end
    lines[#lines + 1] = ".fi"
end

local function add_see_also(lines, parser, root)
    local others = {}
    for _, command in ipairs(root._commands) do
        if command ~= parser and not command._is_help_command then
            others[#others + 1] = "\\fBkubelua\\-" .. command._name .. "\\fR(1)"
        end
    end
    if parser ~= root then
        table.insert(others, 1, "\\fBkubelua\\fR(1)")
    end
    lines[#lines + 1] = ".SH SEE ALSO\n" .. table.concat(others, ",\n")
end

local function find_command(parser, name)
    for _, command in ipairs(parser._commands) do
        if command._name == name then
            return command
        end
    end
    return nil
end

---A man page.
---@param root table the parser of the command line
---@param name string? of a sub-command; default: the page of the command itself
---@param version string
---@return string roff
function manual.page(root, name, version)
    local parser = name and find_command(root, name) or root
    local title = name and "kubelua-" .. name or "kubelua"
    local short = parser._description:match("^[^.:]+"):gsub("^%u", string.lower)
    local usage = parser:get_usage():gsub("^Usage: ", ""):gsub("%s*\n%s*", " ")
    local lines = {
        ('.TH "%s" "1" "" "KubeLua %s" "KubeLua"'):format(escape(title:upper()), version),
        ".SH NAME", escape(title) .. " \\- " .. escape(short),
        ".SH SYNOPSIS", (bold(usage):gsub("^(\\fBkubelua ?[%l]*)", "%1\\fR", 1)),
        ".SH DESCRIPTION", escape(parser._description) }
    add_elements(lines, "ARGUMENTS", parser._arguments)
    add_commands(lines, parser)
    add_elements(lines, "OPTIONS", parser._options)
    if parser ~= root then
        add_nested(lines, parser, add_epilog)
    end
    lines[#lines + 1] = ".SH EXIT STATUS\n0: it did what it was told to; 1: it failed, and "
        .. "standard error says why;\n2: wrong usage; 130: ended by SIGINT."
    add_epilog(lines, parser._epilog)
    add_see_also(lines, parser, root)
    return table.concat(lines, "\n") .. "\n"
end

-- Hidden options are no choice for a user.
local function drop_hidden(parser)
    local shown = {}
    for _, option in ipairs(parser._options) do
        shown[#shown + 1] = not option._hidden and option or nil
    end
    parser._options = shown
    for _, command in ipairs(parser._commands) do
        drop_hidden(command)
    end
end

-- argparse's script for bash has no choices of arguments, and completes the names of files itself:
-- without the slash behind a folder. Where it finds nothing, bash does that better.
local function mend_bash(parser, script)
    local cases = {}
    for _, command in ipairs(parser._commands) do
        local argument = command._arguments[1]
        if argument and argument._choices and not command._is_help_command then
            cases[#cases + 1] = ("        '%s')\n            COMPREPLY=($(compgen -W \"%s\" -- "
                .. "\"$cur\"))\n            ;;\n"):format(command._name,
                table.concat(argument._choices, " "))
        end
    end
    script = script:gsub('COMPREPLY=%(%$%(compgen %-f [^\n]*', "COMPREPLY=()")
    return (script:gsub('case "%$cmd" in\n', function(line)
        return line .. table.concat(cases)
    end))
end

-- argparse knows no option with a value that may be missing.
local function mend_zsh(script)
    return (script:gsub('"(%*?%-%-sim)(%[[^\n]-%])"', '"%1=-%2:: :_files"'))
end

---The script that completes commands and options in a shell.
---@param parser table of the command line; it is changed, so it cannot be used again
---@param shell "bash"|"zsh"|"fish"
---@return string script
function manual.completion(parser, shell)
    drop_hidden(parser)
    local script = parser["get_" .. shell .. "_complete"](parser)
    return shell == "bash" and mend_bash(parser, script) or shell == "zsh" and mend_zsh(script)
        or script
end

local function write_file(path, text)
    local file = assert(io.open(path, "w"))
    assert(file:write(text))
    assert(file:close())
end

---Writes all of them into a folder whose subfolders are there: for an installation.
---@param make_parser fun(): table
---@param folder string
---@param version string
function manual.write_all(make_parser, folder, version)
    local parser = make_parser()
    write_file(folder .. "/man1/kubelua.1", manual.page(parser, nil, version))
    for _, command in ipairs(parser._commands) do
        if not command._is_help_command then
            write_file(folder .. "/man1/kubelua-" .. command._name .. ".1",
                manual.page(parser, command._name, version))
        end
    end
    for shell, name in pairs { bash = "kubelua", zsh = "_kubelua", fish = "kubelua.fish" } do
        write_file(folder .. "/" .. shell .. "/" .. name, manual.completion(make_parser(), shell))
    end
end

return manual
