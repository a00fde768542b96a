-- What is linked into the one-file executables, by the linker's own map: writes the notices that
-- their licences ask for, and a list of materials (SPDX 2.3, JSON) beside each executable.
--   lua5.4 scripts/contents.lua OUT VERSION EPOCH ARCH=BUILD...
-- OUT has kubelua-VERSION-linux-ARCH and kubelua-lua5.4-VERSION-linux-ARCH; BUILD is the folder of
-- scripts/static-libraries, with the build folder kubelua in it. Writes for each executable
-- NAME.spdx.json, and once kubelua-VERSION-THIRD-PARTY.txt and, for scripts/sources,
-- build/sources.list. A library in a map that no package and no source has, or whose licence is not
-- named here, is an error: nothing goes out without notice.

local out, version, epoch = arg[1], arg[2], tonumber(arg[3])

local function fail(...)
    io.stderr:write("scripts/contents.lua: ", string.format(...), "\n")
    os.exit(1)
end

-- By Debian's source package: the licence as SPDX writes it, of what is linked (not of the
-- package's tools and tests), and what it is for here.
local LICENCES = {
    ["ca-certificates"] = { "MPL-2.0", "certificates of authorities (in the image only)" },
    curl = { "curl", "libcurl: HTTP" },
    glibc = { "LGPL-2.1-or-later", "the C library" },
    gmp = { "LGPL-3.0-or-later OR GPL-2.0-or-later", "large numbers, for nettle" },
    gnutls28 = { -- its libunistring has the second licence; its assembler code and inih the third
        "LGPL-2.1-or-later AND (LGPL-3.0-or-later OR GPL-2.0-or-later) AND BSD-3-Clause",
        "TLS of the simulator; libtasn1, libunistring and inih are in it",
    },
    libmicrohttpd = { "LGPL-2.1-or-later", "HTTP of the simulator and of kubelua run --serve" },
    libyaml = { "MIT", "YAML" },
    libzstd = { "BSD-3-Clause OR GPL-2.0-only", "compression" },
    ["lua-argparse"] = { "MIT", "the command line" },
    ["lua-cjson"] = { "MIT", "JSON for scripts" },
    ["lua-luassert"] = { "MIT", "assertions of kubelua test" },
    ["lua-say"] = { "MIT", "their texts" },
    ["lua5.4"] = { "MIT", "Lua 5.4" },
    luajit = { "MIT", "LuaJIT" },
    nettle = { "LGPL-3.0-or-later OR GPL-2.0-or-later", "cryptography, for GnuTLS" },
    nghttp2 = { "MIT", "HTTP/2, for libcurl" },
    openssl = { "Apache-2.0", "TLS" },
    pcre2 = { "BSD-3-Clause", "regular expressions of the simulator" },
    tzdata = { "LicenseRef-public-domain", "time zones (in the image only)" },
    yyjson = { "MIT", "JSON" },
    zlib = { "Zlib", "compression" },
}
for _, gcc in ipairs { "gcc-12", "gcc-13", "gcc-14", "gcc-15" } do
    LICENCES[gcc] = { "GPL-3.0-or-later WITH GCC-exception-3.1", "the compiler's run-time library" }
end

-- Libraries that scripts/static-libraries builds: the name of the source, the files with its
-- licences, and the folders of the code that is compiled, whose files name the holders of the
-- copyright.
local BUILT = {
    ["libcurl.a"] = { "curl", { "COPYING" }, { "include", "lib" } },
    ["libgnutls.a"] = {
        "gnutls28",
        { "COPYING.LESSERv2", "lib/accelerated/x86/license.txt", "lib/inih/LICENSE.txt" },
        { "gl", "lib" },
    },
    ["libyyjson.a"] = { "yyjson", { "LICENSE" }, { "src" } },
}

-- Texts that Debian's notices name and do not repeat.
local COMMON = { "Apache-2.0", "GPL-2", "GPL-3", "LGPL-2.1", "LGPL-3", "MPL-2.0" }

local HEAD = [[
Third-party software in KubeLua %s: the executables and the image for Linux
===========================================================================

KubeLua itself is under the MIT licence, which is the first text below. The
executables are linked statically, and so contain the libraries of this table.

Some of them are under the GNU Lesser General Public License (LGPL). You may
change those libraries and link the executable again: KubeLua's whole source is
given away, with the script that builds the executables. In a source tree of this
version, on Debian:

    scripts/release DIR              builds the executables and all that is in them

Its first step, scripts/static-libraries, unpacks the libraries named here into
DIR/build/ARCH/sysroot. Put a library of your own in its place there (in
usr/lib/TRIPLE), remove DIR/build/ARCH/kubelua/program and run scripts/release DIR
again: it links with that one. The sources of all libraries, in the versions of the
table, and KubeLua's own are in the file

    kubelua-%s-sources.tar

that is given away with the executables and the image, at the same place. Nothing
in KubeLua's licence forbids changes for your own use, or reverse engineering to find
faults in such changes.

]]

local function read(path)
    local file = io.open(path, "rb")
    if not file then
        fail("%s cannot be read", path)
    end
    local text = file:read("a")
    file:close()
    return text
end

local function write(path, text)
    local file = assert(io.open(path, "wb"))
    assert(file:write(text))
    assert(file:close())
end

local function run(command, ...)
    local quoted = { command }
    for _, word in ipairs { ... } do
        quoted[#quoted + 1] = "'" .. word:gsub("'", "'\\''") .. "'"
    end
    local pipe = assert(io.popen(table.concat(quoted, " ")))
    local text = pipe:read("a")
    if not pipe:close() then
        fail("%s has failed", table.concat(quoted, " "))
    end
    return text
end

local function sorted_keys(set)
    local keys = {}
    for key in pairs(set) do
        keys[#keys + 1] = key
    end
    table.sort(keys)
    return keys
end

local function sum_of(path)
    return run("sha256sum", path):match("^\\?(%x+)")
end

-- The addresses of packages by their checksum, out of Debian's indexes in `build`/apt. A package is
-- not among them if the index has been updated since, and has a newer version only.
local function urls_of(build)
    local urls = {}
    for list in run("ls", build .. "/apt/lists"):gmatch("[^\n]+") do
        local archive = list:match("_(debian[^_]*)_dists_.*_Packages")
        if archive then
            local text = run("/usr/lib/apt/apt-helper cat-file", build .. "/apt/lists/" .. list)
            for stanza in (text .. "\n"):gmatch("(.-\n)\n") do
                local file = stanza:match("\nFilename: (%S+)")
                local sum = stanza:match("\nSHA256: (%x+)")
                urls[sum] = "http://deb.debian.org/" .. archive .. "/" .. file
            end
        end
    end
    return urls
end

-- The packages that were unpacked: first by the path of each file in them, then by name.
local function packages_of(build)
    local owners, by_name, urls = {}, {}, urls_of(build)
    for deb in run("ls", build .. "/debs"):gmatch("[^\n]+%.deb") do
        local path = build .. "/debs/" .. deb
        local fields = "\n" .. run("dpkg-deb -f", path, "Package", "Version", "Source",
            "Architecture")
        local package = {
            name = fields:match("\nPackage: (%S+)"),
            version = fields:match("\nVersion: (%S+)"),
            arch = fields:match("\nArchitecture: (%S+)"),
            sum = sum_of(path),
        }
        package.source = fields:match("\nSource: (%S+)") or package.name
        package.source_version = fields:match("\nSource: %S+ %((%S+)%)") or package.version
        package.url = urls[package.sum]
        package.build = build
        by_name[package.name] = package
        for line in run("dpkg-deb --fsys-tarfile '" .. path .. "' | tar -t"):gmatch("[^\n]+") do
            owners[line:gsub("^%./", "/"):gsub("^/lib/", "/usr/lib/")] = package
        end
    end
    return owners, by_name
end

-- The texts of `files`, and each line of a file in `folders` that names a holder of the copyright.
local function notice_of_source(root, files, folders)
    local texts, holders = {}, {}
    for _, file in ipairs(files) do
        texts[#texts + 1] = read(root .. "/" .. file)
    end
    for _, folder in ipairs(folders) do
        local lines = run("LC_ALL=C grep -rhiE --include=*.[chsS]"
            .. " 'copyright +(\\(c\\)|©|[0-9]{4})'", root .. "/" .. folder)
        for line in lines:gmatch("[^\n]+") do
            local holder = line:match("[Cc][Oo][Pp][Yy][Rr][Ii][Gg][Hh][Tt].*")
            holders[holder:gsub("[%s*/#]+$", "")] = true
        end
    end
    texts[#texts + 1] = "Its files name these holders of the copyright:\n\n"
        .. table.concat(sorted_keys(holders), "\n") .. "\n"
    return table.concat(texts, "\n" .. ("-"):rep(79) .. "\n\n")
end

local function built_source(build, library)
    local name, files, folders = BUILT[library][1], BUILT[library][2], BUILT[library][3]
    local archive = run("ls", build .. "/src"):match("(" .. name .. "_[^\n]*%.orig%.tar%.[^\n]+)")
    local pool = name:sub(1, 1) .. "/" .. name
    return {
        name = name, source = name, arch = "source",
        version = archive:match("_(.*)%.orig"), source_version = archive:match("_(.*)%.orig"),
        sum = sum_of(build .. "/src/" .. archive),
        url = "http://deb.debian.org/debian/pool/main/" .. pool .. "/" .. archive,
        notice = notice_of_source(build .. "/src/" .. name, files, folders),
        build = build, archive = build .. "/src/" .. archive,
    }
end

-- What the linker took for `program`: packages and sources by name. Modules in Lua are no
-- libraries, so that the map does not have them.
local function contents_of(build, program, owners, by_name)
    local found = {}
    for _, name in ipairs { "lua-argparse", "lua-cjson", "lua-luassert", "lua-say" } do
        found[name] = by_name[name] or fail("%s is not among the packages", name)
    end
    local sysroot = build .. "/sysroot"
    for line in io.lines(build .. "/kubelua/program/" .. program .. ".map") do
        local from, to = line:find(sysroot, 1, true)
        local file = from and line:sub(to + 1):match("^([^:]-%.[ao])[(:]")
        if file then
            local library = file:match("[^/]+$")
            local package = owners[file:gsub("^/lib/", "/usr/lib/")]
            if not package and BUILT[library] then
                package = built_source(build, library)
                owners[file] = package
            end
            if not package then
                fail("%s is linked into %s, and no package has it", file, program)
            end
            found[package.name] = package
        end
    end
    for name, package in pairs(found) do
        if not LICENCES[package.source] then
            fail("the licence of %s (%s) is not named in LICENCES", package.source, name)
        end
    end
    return found
end

-- ---- the notices ----

local function write_notices(by_source)
    local texts = { HEAD:format(version, version) }
    local format = "%-16s %-32s %s\n    %s\n"
    texts[#texts + 1] = format:format("library", "version (Debian)", "what for", "licence")
    for _, key in ipairs(sorted_keys(by_source)) do
        local package = by_source[key]
        local licence = LICENCES[package.source]
        texts[#texts + 1] = format:format(package.source, package.source_version, licence[2],
            licence[1])
    end
    local function add(title, text)
        texts[#texts + 1] = ("\n%s\n%s\n%s\n\n%s"):format(("="):rep(79), title, ("="):rep(79),
            text)
    end
    add("KubeLua " .. version, read("LICENSE"))
    for _, key in ipairs(sorted_keys(by_source)) do
        local package = by_source[key]
        add(key, package.notice
            or read(package.build .. "/sysroot/usr/share/doc/" .. package.name .. "/copyright"))
    end
    for _, name in ipairs(COMMON) do
        add("/usr/share/common-licenses/" .. name, read("/usr/share/common-licenses/" .. name))
    end
    write(("%s/kubelua-%s-THIRD-PARTY.txt"):format(out, version), table.concat(texts))
end

-- For scripts/sources: NAME VERSION BUILD, and of a source that is built its ARCHIVE.
local function write_sources(by_source)
    local lines = {}
    for _, key in ipairs(sorted_keys(by_source)) do
        local package = by_source[key]
        lines[#lines + 1] = ("%s %s %s\n"):format(key, package.build, package.archive or "")
    end
    write(out .. "/build/sources.list", table.concat(lines))
end

-- ---- the list of materials ----

local function quote(text)
    return '"' .. text:gsub('[%c"\\]', function(byte)
        return ("\\u%04x"):format(byte:byte())
    end) .. '"'
end

-- Values are written as they come, members by name: the same bytes each time.
local function encode(value, indent)
    if type(value) ~= "table" then
        return type(value) == "string" and quote(value) or tostring(value)
    end
    local inner = indent .. " "
    local parts = {}
    if #value > 0 then
        for _, item in ipairs(value) do
            parts[#parts + 1] = inner .. encode(item, inner)
        end
        return "[\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "]"
    end
    for _, key in ipairs(sorted_keys(value)) do
        parts[#parts + 1] = inner .. quote(key) .. ": " .. encode(value[key], inner)
    end
    return "{\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "}"
end

local function id_of(name)
    return "SPDXRef-" .. name:gsub("[^%w.-]", "-")
end

local function spdx_package(package)
    local is_source = package.arch == "source"
    local kind = is_source and "?arch=source" or "?distro=trixie&arch=" .. package.arch
    return {
        SPDXID = id_of(package.name), name = package.name, versionInfo = package.version,
        supplier = "Organization: Debian", filesAnalyzed = false,
        downloadLocation = package.url or "NOASSERTION",
        checksums = { { algorithm = "SHA256", checksumValue = package.sum } },
        licenseDeclared = LICENCES[package.source][1], licenseConcluded = "NOASSERTION",
        copyrightText = "NOASSERTION",
        sourceInfo = ("Debian's source %s %s, in kubelua-%s-sources.tar"):format(package.source,
            package.source_version, version),
        externalRefs = { {
            referenceCategory = "PACKAGE-MANAGER", referenceType = "purl",
            referenceLocator = "pkg:deb/debian/" .. package.name .. "@"
                .. package.version:gsub("[+:]", { ["+"] = "%2B", [":"] = "%3A" }) .. kind,
        } },
    }
end

local function write_materials(name, found)
    local path = out .. "/" .. name
    local sum = sum_of(path)
    local packages = { {
        SPDXID = "SPDXRef-kubelua", name = "kubelua", versionInfo = version,
        primaryPackagePurpose = "APPLICATION", packageFileName = name, filesAnalyzed = false,
        downloadLocation = "NOASSERTION",
        checksums = { { algorithm = "SHA256", checksumValue = sum } },
        licenseDeclared = "MIT", licenseConcluded = "NOASSERTION", copyrightText = "NOASSERTION",
        supplier = "Organization: KubeLua",
    } }
    local relations = { {
        spdxElementId = "SPDXRef-DOCUMENT", relationshipType = "DESCRIBES",
        relatedSpdxElement = "SPDXRef-kubelua",
    } }
    for _, key in ipairs(sorted_keys(found)) do
        local package = spdx_package(found[key])
        packages[#packages + 1] = package
        relations[#relations + 1] = {
            spdxElementId = "SPDXRef-kubelua", relatedSpdxElement = package.SPDXID,
            relationshipType = key:find("^lua%-") and "CONTAINS" or "STATIC_LINK",
        }
    end
    write(path .. ".spdx.json", encode({
        spdxVersion = "SPDX-2.3", dataLicense = "CC0-1.0", SPDXID = "SPDXRef-DOCUMENT",
        name = name, documentNamespace = "https://kubelua.invalid/spdx/" .. name .. "-" .. sum,
        creationInfo = {
            created = os.date("!%Y-%m-%dT%H:%M:%SZ", epoch),
            creators = { "Tool: scripts/contents.lua-" .. version },
        },
        packages = packages, relationships = relations,
    }, "") .. "\n")
end

-- Each source of each version once: architectures may differ.
local by_source = {}

local function add_source(package)
    by_source[package.source .. " " .. package.source_version] = package
end

for i = 4, #arg do
    local arch, build = arg[i]:match("^([^=]+)=(.+)$")
    local owners, by_name = packages_of(build)
    for _, program in ipairs { "kubelua", "kubelua-lua5.4" } do
        local found = contents_of(build, program, owners, by_name)
        write_materials(("%s-%s-linux-%s"):format(program, version, arch), found)
        for _, package in pairs(found) do
            add_source(package)
        end
    end
    for _, name in ipairs { "ca-certificates", "tzdata" } do
        add_source(by_name[name])
    end
end
write_notices(by_source)
write_sources(by_source)
