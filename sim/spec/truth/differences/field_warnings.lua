-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "warnings about single fields, and AppArmor profiles in annotations",
    why = "not implemented; all are about deprecated fields",
    { "pod_standards: baseline: volumes of other kinds", "header.warning" },
    { "pod_standards: restricted: volumes of other kinds", "header.warning" },
    { "pod_standards: baseline: AppArmor by annotations", "header.warning", "body.message" },
    { "pod_standards: restricted: AppArmor by annotations", "header.warning", "body.message" },
}
