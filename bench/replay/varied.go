package replay

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Cluster says how much of each kind a varied cluster has.
type Cluster struct {
	Pods           int  `json:"pods"`
	EndpointSlices int  `json:"endpointslices"`
	Secrets        int  `json:"secrets"`
	Nodes          int  `json:"nodes"`
	Custom         int  `json:"custom"`
	ManagedFields  bool `json:"managed_fields"`
}

// The custom resource of a varied cluster.
var applications = schema.GroupVersionKind{
	Group: "deploy.example.com", Version: "v1alpha1", Kind: "Application"}

// Varied makes the objects of a cluster that differ as those of real ones do:
// sizes are spread, and what is random there (UIDs, hashes, tokens, addresses,
// times) is random here. The same `seed` makes the same.
func Varied(seed uint64, of Cluster) []*Data {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 15)), managed: of.ManagedFields}
	for range max(1, of.Nodes) {
		m.nodes = append(m.nodes, fmt.Sprintf("ip-10-%d-%d-%d.%s.compute.internal",
			m.IntN(256), m.IntN(256), m.IntN(256), m.pick("eu-central-1", "eu-west-1")))
	}
	for range max(1, of.Pods/20) {
		m.apps = append(m.apps, m.newApp())
	}
	return []*Data{
		newData(corev1.SchemeGroupVersion.WithKind("Pod"), "pods", m.make(of.Pods, m.pod)),
		newData(discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), "endpointslices",
			m.make(of.EndpointSlices, m.endpointSlice)),
		newData(corev1.SchemeGroupVersion.WithKind("Secret"), "secrets",
			m.make(of.Secrets, m.secret)),
		newData(corev1.SchemeGroupVersion.WithKind("Node"), "nodes", m.make(of.Nodes, m.node)),
		newData(applications, "applications", m.make(of.Custom, m.application)),
	}
}

// maker makes what is random.
type maker struct {
	*rand.Rand
	managed bool
	nodes   []string
	apps    []*app
}

func (m *maker) make(count int, one func(int) runtime.Object) (all []runtime.Object) {
	for i := range max(1, count) {
		all = append(all, one(i))
	}
	return all
}

// letters returns so many characters of an alphabet.
func (m *maker) letters(alphabet string, count int) string {
	text := make([]byte, count)
	for i := range text {
		text[i] = alphabet[m.IntN(len(alphabet))]
	}
	return string(text)
}

// What Kubernetes makes the random ends of names of.
const nameLetters = "bcdfghjklmnpqrstvwxz2456789"

func (m *maker) hex(count int) string {
	return m.letters("0123456789abcdef", count)
}

func (m *maker) uid() types.UID {
	h := m.hex(32)
	return types.UID(h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:])
}

func (m *maker) bytes(count int) []byte {
	random := make([]byte, count)
	for i := range random {
		random[i] = byte(m.Uint32())
	}
	return random
}

// secretText is random bytes as text.
func (m *maker) secretText(count int) string {
	return base64.StdEncoding.EncodeToString(m.bytes(count))
}

func (m *maker) pick(from ...string) string {
	return from[m.IntN(len(from))]
}

// spread returns a number whose logarithm is spread normally: most are near
// `usual`, few are many times that.
func (m *maker) spread(usual, width float64, most int) int {
	return min(most, int(usual*math.Exp(m.NormFloat64()*width)))
}

func (m *maker) address() string {
	return fmt.Sprintf("10.%d.%d.%d", 64+m.IntN(128), m.IntN(256), 1+m.IntN(254))
}

// time is one within the last months.
func (m *maker) time() metav1.Time {
	return metav1.NewTime(created.Add(-time.Duration(m.IntN(100*24*3600)) * time.Second))
}

func (m *maker) after(start metav1.Time, seconds int) metav1.Time {
	return metav1.NewTime(start.Add(time.Duration(1+m.IntN(seconds)) * time.Second))
}

var words = strings.Fields(`account auth audit basket billing cache cart catalog checkout config
	content currency customer dashboard delivery email event export feature feed gateway geo image
	import index inventory invoice ledger login loyalty mail media message metrics notification offer
	order partner payment pricing product profile promotion proxy quota rating recommendation refund
	report review risk router scheduler search session shipping stock stream subscription support tax
	token tracking upload user video voucher wallet warehouse web worker`)

func (m *maker) word() string {
	return words[m.IntN(len(words))]
}

func (m *maker) namespace() string {
	return m.pick("prod", "staging", "team", "platform") + "-" + words[m.IntN(40)]
}

// about is the metadata that all objects have.
func (m *maker) about(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, UID: m.uid(),
		ResourceVersion: versionMark, CreationTimestamp: m.time(),
		Labels: map[string]string{}, Annotations: map[string]string{}}
}

// sentence is text as people write it.
func (m *maker) sentence(count int) string {
	var all []string
	for range count {
		all = append(all, m.word())
	}
	return strings.Join(all, " ")
}

// own adds managedFields, where they are asked for: a manager's for metadata and
// spec, another one's for the status.
func (m *maker) own(about *metav1.ObjectMeta, apiVersion string, body map[string]any) {
	if !m.managed {
		return
	}
	status, has := body["status"]
	delete(body, "status")
	body["metadata"] = *about
	managers := []metav1.ManagedFieldsEntry{owns(m.pick("kube-controller-manager", "helm",
		"argocd-controller", "kubectl-client-side-apply"), "", body)}
	if has {
		managers = append(managers, owns(m.pick("kubelet", "kube-controller-manager", "manager"),
			"status", map[string]any{"status": status}))
	}
	for i := range managers {
		at := m.after(about.CreationTimestamp, 86400)
		managers[i].Time, managers[i].APIVersion = &at, apiVersion
	}
	about.ManagedFields = managers
}
