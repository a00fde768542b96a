-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "a 406 does not name protobuf or YAML",
    why = "answers are JSON",
    { "discovery: a group as text that nobody writes", "body.message" },
    { "watch: as text", "body.message" },
}
