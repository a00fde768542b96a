-- Makes the table of what the simulator answers differently from a real server, out of
-- differences.lua. lua5.4 sim/spec/truth/table.lua writes docs/DIFFERENCES.md, and --check
-- fails if that file has another text.
package.path = "sim/spec/truth/?.lua;" .. package.path

local differences = require "differences"

local FILE = "docs/DIFFERENCES.md"
local HEAD = [[
# What the simulator answers differently

`sim/spec/truth` sends the same requests to a real kube-apiserver (1.36) and to the simulator, and
compares the answers part by part. This table has all differences that it finds, and why they stay.
It asks what controllers, scripts and kubectl ask; refusals of malformed bodies, of odd values and
of kinds that they do not write may have other words. `lua5.4 sim/spec/truth/table.lua` writes this
page; `sim/spec/truth/differences.lua` has the list request by request.

The scope of the simulator is closed. It is there to test scripts and controllers, and grows only
where such a test needs it. CEL (x-kubernetes-validations, ValidatingAdmissionPolicy) stays out, and
so do admission webhooks that are asked over HTTPS; those of a script under test are asked in its
process (ADMISSION.md). No more validation or admission is added.

Left out, as no script, controller or use of kubectl needs it:

- answers in protobuf. A body in protobuf is read, as typed Go clients and `kubectl create` send it
  by default; they accept JSON too. A client that accepts protobuf alone gets 406. OpenAPI v2 is
  served as protobuf too: kubectl validates lists by it.
- answers in YAML: 406 for a client that accepts YAML alone. Bodies may be YAML.
- Go's words for a body that is no JSON: the message says where it stops being JSON. Bytes that are
  not UTF-8, and half a surrogate pair, are refused (400) too; Go replaces them by U+FFFD.
- kind, apiVersion and metadata of resources embedded in custom objects are not validated.
- requests of a Pod as a whole (spec.resources) are not computed from those of its containers.
- words of refusals: of an Accept header (those of a real server's router), of an object of another
  kind or version, of a strategic patch that cannot be merged; values in refusals of patches and
  applies are JSON, not what Go prints.
- malformed HTTP (no Host or two, control characters, odd methods ...): libmicrohttpd refuses some
  of it, each version other parts; the rest is taken as far as it is understood.
- the warning that v1 Endpoints are deprecated. Deprecated versions of custom resources are warned
  of.
- an object with a name twice: refused (400). A real server takes the last member, and warns or
  refuses by fieldValidation.
- Pod Security Standards: every pod is admitted, whatever the labels of its namespace say.
- ResourceQuotas and LimitRanges: they are kept as they are written, without validation, and neither
  count, refuse nor set anything.
- kinds of a cluster's own parts, which are not served: those of resource.k8s.io and
  flowcontrol.apiserver.k8s.io; ValidatingAdmissionPolicies, MutatingAdmissionPolicies and their
  bindings; CSIDrivers, CSINodes, CSIStorageCapacities, VolumeAttachments,
  VolumeAttributesClasses; IPAddresses, ServiceCIDRs. kubectl says that the server has no such type.
- formats of texts that no custom resource needs: bsonobjectid, creditcard, hexcolor, isbn, isbn10,
  isbn13, mac, rgbcolor and ssn are not checked.
- autoscaling/v1: a HorizontalPodAutoscaler is served in v2 only.
- escalation: a user that may write roles and bindings may grant rights that the user lacks.
- TokenReview, SubjectAccessReview, LocalSubjectAccessReview: 405. Reviews of the user that asks are
  answered, as `kubectl auth` needs them.
- validation of what only a scheduler or a node reads in a PodSpec: affinity, topology spread,
  tolerations, scheduling gates, readiness gates, host aliases, dnsConfig, os, hostUsers and the
  security settings of the whole pod.
- validation of kinds that administrators and the cluster's own components write: PersistentVolumes,
  StorageClasses, PriorityClasses, RuntimeClasses, IngressClasses, NetworkPolicies, Endpoints,
  PodTemplates, Nodes; and of the status of built-in kinds. Their fields that a real server keeps as
  they are can be changed.
- validation of the rare parts of other kinds: failure and success policies of Jobs, metrics and
  behavior of HorizontalPodAutoscalers, names of time zones, ports of the host that two containers
  share, addresses and hints of EndpointSlices that no other host reaches, sources of claims
  (dataSource).
- admission plugins but NamespaceLifecycle: pods get no priority, tolerations or overhead, claims
  and Ingresses no default class, new nodes no taint; claims and volumes get no finalizer that keeps
  them while they are used, and claims may grow.
- server-side apply of a scale: 415. A write of a scale is tracked like an update of the object; a
  real server carries managers of replicas over from one to the other.
- more than ten managers of an object: all stay; a real server merges the oldest into
  "ancient-changes". An apply by kubectl leaves the annotation last-applied-configuration as it is.
- the words about a label selector that is none: they are those of kl_selector_parse, which say at
  which character.
- tokens of ServiceAccounts (TokenRequest): 405. A ServiceAccount is a user by its full name.
- rare things that a server sets or allows: a PUT creates no object (404); a DaemonSet has no
  annotation deprecated.daemonset.template.generation, a volume no lastPhaseTransitionTime, and a
  write of a pod's status may drop observedGeneration; dataSource and dataSourceRef of a claim are
  not copied to each other.
- validation of what only a kubelet meets in a container: sources of variables (valueFrom), probes
  and hooks; of Docker configurations in Secrets. A refusal of a budget, a strategy or a roleRef
  does not print Go structs.
- conditions of a namespace that ends (what is left in it); conflicts of names between definitions,
  which are all accepted; limits of warnings (all are sent whole); matchExpressions in
  aggregationRules; the UID in a patch of a scale.

Patterns of custom resources are Go's regular expressions. PCRE2 runs them here. What PCRE2 has and
Go does not (lookaround, back references, atomic groups ...) is refused. What differs:

- the words of most refusals are PCRE2's.
- a pattern that is too large for PCRE2 (64 KB compiled), nests groups more than 250 deep, or takes
  more than about a second for a value (`(a+)+b` for thousands of `a`), is refused, and the message
  says so.
- refused, though Go takes it: `\v`, octal escapes other than `\0`, `{,3}` for these four
  characters, a repetition of `^` or of flags (`a(?i)*`).
- taken, though Go refuses it: `[a-\d]`, `\x4`, repetitions within each other that make more than
  1000, PCRE2's other names of properties.
- `\s` includes the vertical tab. `(?i)` does not widen `\p{Lu}` and its like, nor `\w` beyond
  ASCII. `\p{Greek}` includes characters that Greek shares with other scripts.

| what | why | requests |
|---|---|---|
]]

local function requests_of(difference)
    local count, seen = 0, {}
    for _, entry in ipairs(difference) do
        count = count + (seen[entry[1]] and 0 or 1)
        seen[entry[1]] = true
    end
    return difference.anywhere and "many" or tostring(count)
end

local function compose()
    local rows = { HEAD }
    for _, difference in ipairs(differences) do
        assert(difference.what and difference.why, "a difference says what and why")
        rows[#rows + 1] = ("| %s | %s | %s |\n"):format(difference.what, difference.why,
            requests_of(difference))
    end
    return table.concat(rows)
end

local function read_file(path)
    local file = io.open(path)
    if not file then
        return ""
    end
    local text = file:read("a")
    file:close()
    return text
end

local text = compose()
if arg[1] == "--check" then
    if read_file(FILE) ~= text then
        print(FILE .. " is not what sim/spec/truth/differences.lua says: "
            .. "run lua5.4 sim/spec/truth/table.lua")
        os.exit(1)
    end
    print("docs/DIFFERENCES.md has what differs.")
    return
end
os.execute("mkdir -p docs")
local file = assert(io.open(FILE, "w"))
file:write(text)
file:close()
