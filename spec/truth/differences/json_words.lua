-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "numbers with exponents in the text of a refusal",
    why = "a number is told by its value, not as it was written",
    { "bodies: containers: 14", "body.message" },
    { "bodies: a deployment: 9", "body.message" },
}
