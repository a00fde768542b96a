-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "a volume has no lastPhaseTransitionTime",
    why = "no script reads it",
    anywhere = "status%.lastPhaseTransitionTime$",
}
