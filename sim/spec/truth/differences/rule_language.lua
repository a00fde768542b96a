-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "x-kubernetes-validations are not evaluated",
    why = "CEL is a language of its own",
    { "crd_schema: a rule that is broken", "status" },
}
