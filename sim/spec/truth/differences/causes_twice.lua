-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "in a refused update of a Pod: the difference that the message prints, and how "
        .. "often labels are named",
    why = "the real one prints Go structs, and names labels as often as the code of a kind "
        .. "looks at them",
    { "update: with labels that are none", "body.details.causes" },
    { "update: the node of a pod", "body.details.causes[1].message" },
    { "update: the restart policy of a pod", "body.details.causes[1].message" },
    { "validation_updates: Job: change 4", "body.details.causes" },
}
