-- Tables in Markdown, and what their columns say of a contender.
local figures = require "figures"

local columns = {}

-- A table with columns { title, function(contender) }, a row each contender.
function columns.markdown(contenders, wanted)
    local head, line, rows = { "" }, { "---" }, {}
    for _, column in ipairs(wanted) do
        head[#head + 1], line[#line + 1] = column[1], "---"
    end
    for _, contender in ipairs(contenders) do
        local row = { contender.name }
        for _, column in ipairs(wanted) do
            row[#row + 1] = column[2](contender)
        end
        rows[#rows + 1] = "| " .. table.concat(row, " | ") .. " |"
    end
    return ("| %s |\n|%s|\n%s\n"):format(table.concat(head, " | "), table.concat(line, "|"),
        table.concat(rows, "\n"))
end

function columns.us(name)
    return function(contender)
        return figures.write(contender, name, "us")
    end
end

function columns.ms(name)
    return function(contender)
        return figures.write(contender, name, "ms", 1000)
    end
end

function columns.kb(name)
    return function(contender)
        return figures.write(contender, name, "KB", 1024)
    end
end

function columns.plain(name)
    return function(contender)
        return figures.write(contender, name)
    end
end

function columns.relative(results, name, inverse)
    return function(contender)
        return figures.write_range(figures.ratio(results, contender, name, inverse))
    end
end

return columns
