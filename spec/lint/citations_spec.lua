-- The lint of citations, on trees of a few texts: what it follows, and what it lets through.
package.path = "spec/lint/?.lua;" .. package.path
local citations = require "citations"
local tree = require "tree"

local PAGE = "# A page\n\n## What `a_word` does, and why\n\n### gone\n\n### gone\n"

-- The breaches of one text at that path, beside a page and a source file.
local function check(path, text)
    return citations.check(tree.of {
        ["docs/PAGE.md"] = PAGE, ["core/base/map.c"] = "/* map.c - a map. */\nint a_word;\n",
        ["spec/a_spec.lua"] = "it(\"does this\", f) it(\"any words\", f)\n", [path] = text,
    })
end

local function accepts(path, text)
    assert.same({}, check(path, text))
end

local function refuses(path, text, breach)
    assert.same({ breach }, check(path, text))
end

describe("a citation in a comment", function()
    it("may name a page, and a heading of it", function()
        accepts("core/a.c", "/* See docs/PAGE.md, and docs/PAGE.md#gone. */\n")
        accepts("lua/a.lua", "-- (docs/PAGE.md#what-a_word-does-and-why)\n")
        accepts("scripts/a", "#!/bin/sh\nls # docs/PAGE.md#gone-1\n")
        accepts("docs/a.lua", "-- See PAGE.md, in the same folder.\n")
    end)

    it("fails where the page is not there", function()
        refuses("core/a.c", "\n/* See\n * docs/NONE.md. */\n",
            "core/a.c:3: there is no page docs/NONE.md")
        refuses("lua/a.lua", "local a = 1 -- API.md\n", "lua/a.lua:1: there is no page API.md")
    end)

    it("fails where the heading is not there", function()
        refuses("core/a.h", "/* docs/PAGE.md#come */\n",
            "core/a.h:1: docs/PAGE.md has no heading #come")
    end)

    it("fails where a source file is not there", function()
        accepts("core/a.c", "// core/base/map.c\n")
        refuses("core/a.c", "// core/base/list.c\n",
            "core/a.c:1: there is no file core/base/list.c")
    end)

    it("fails by a code of another page", function()
        refuses("core/a.c", "/* as so often (K-36) */\n",
            "core/a.c:1: K-36 is a code of a page that is not here")
        refuses("core/a.c", "/* see reference 5.3 */\n",
            "core/a.c:1: 'reference 5.3' is a page that is not here")
    end)

    it("is none in code, in an address, in the name of a curve", function()
        accepts("core/a.c", "const char *a = \"/* NONE.md K-1 */\", b = '\"';\n")
        accepts("core/a.c", "/* https://example.com/NONE.md#a, P-256, UTF-8, ISO-8859-1 */\n")
        accepts("lua/a.lua", "local a = \"-- NONE.md\"\n")
    end)

    it("is looked for in what a program prints, if it is a page of docs/", function()
        refuses("lua/a.lua", "print(\"docs/NONE.md has both\")\n",
            "lua/a.lua:1: there is no page docs/NONE.md")
    end)
end)

describe("a link in a document", function()
    it("may lead to a file, a folder, a heading, an address", function()
        accepts("README.md", "[a](docs/PAGE.md) [b](docs/PAGE.md#gone) [c](core/base) "
            .. "[d](https://a.b/c.md)\n")
        accepts("docs/A.md", "# Here it is\n[a](PAGE.md#gone) [b](../core/base/map.c) "
            .. "[c](#here-it-is)\n")
    end)

    it("fails where it leads nowhere", function()
        refuses("README.md", "\n[a](PAGE.md)\n", "README.md:2: the link to PAGE.md leads nowhere")
        refuses("docs/A.md", "[a](#there)\n", "docs/A.md:1: docs/A.md has no heading #there")
    end)

    it("is none in a block of code", function()
        accepts("README.md", "```lua\n-- [a](NONE.md) NONE.md K-1\n```\n")
    end)
end)

describe("a name in a document", function()
    it("has to be in a source", function()
        accepts("docs/A.md", "`a_word`\n```\n`none_such`\n```\n`malloc_stats` `CAPITALS_ONLY`\n")
        refuses("docs/A.md", "\n`a_word` `none_such()`\n",
            "docs/A.md:2: no source has the name none_such")
    end)

    it("of a spec has to be in a spec of that line", function()
        accepts("docs/A.md", "`does this`, spec/a_spec.lua; `any words` elsewhere\n`does that`\n")
        refuses("docs/A.md", "`does that` in spec/a_spec.lua\n",
            "docs/A.md:1: no spec of this line has the name 'does that'")
    end)
end)
