-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "answers in protobuf: JSON is sent, or 406",
    why = "client-go and kubectl take JSON, too; who accepts protobuf alone is not served yet",
    { "crd: as protobuf", "header.content-type", "body" },
    { "formats: protobuf", "status" },
    { "formats: protobuf of a list", "status" },
    { "formats: protobuf or JSON", "header.content-type" },
}
