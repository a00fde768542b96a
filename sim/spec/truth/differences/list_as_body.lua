-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "the words for a list as a body",
    why = "lists are not in the table of types, as all have the same fields",
    { "update: a list as a body", "body.message" },
}
