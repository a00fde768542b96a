-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "the words for a text that is no JSON",
    why = "they are those of the simulator's parser, with the place of the fault",
    { "delete: with rubbish", "body.message" },
    { "delete: a collection with rubbish", "body.message" },
    { "list: a page of rubbish", "body.message" },
    { "patch: json: rubbish", "body.message" },
    { "patch: json: nothing", "body.message" },
    { "patch: merge: rubbish", "body.message" },
    { "patch: merge: no body", "body.message" },
    { "strategic: strategic: rubbish", "body.message" },
    { "update: no JSON", "body.message" },
    { "update: no body", "body.message" },
}
