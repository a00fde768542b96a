-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "warnings of single fields, and AppArmor profiles in annotations",
    why = "gaps, all about what should not be used any more",
    { "pod_standards: baseline: volumes of other kinds", "header.warning" },
    { "pod_standards: restricted: volumes of other kinds", "header.warning" },
    { "pod_standards: baseline: AppArmor by annotations", "header.warning", "body.message" },
    { "pod_standards: restricted: AppArmor by annotations", "header.warning", "body.message" },
}
