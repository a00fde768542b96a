-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "a 406 does not name protobuf",
    why = "answers are JSON or YAML",
    { "discovery: a group as text that nobody writes", "body.message" },
    { "formats: a table of no version", "body.message" },
    { "formats: CBOR alone", "body.message" },
    { "formats: anything of application", "body.message" },
    { "formats: text", "body.message" },
    { "formats: HTML", "body.message" },
    { "watch: as text", "body.message" },
}
