package replay

import (
	"encoding/base64"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

func newEndpointSlice(about metav1.ObjectMeta) *discoveryv1.EndpointSlice {
	name, protocol, port := "http", corev1.ProtocolTCP, int32(8080)
	slice := &discoveryv1.EndpointSlice{ObjectMeta: about, AddressType: "IPv4",
		Ports: []discoveryv1.EndpointPort{{Name: &name, Protocol: &protocol, Port: &port}}}
	slice.Kind, slice.APIVersion = "EndpointSlice", "discovery.k8s.io/v1"
	return slice
}

func addEndpoint(slice *discoveryv1.EndpointSlice, ip, node, zone, pod string, uid types.UID) {
	yes, no, zone := true, false, "eu-central-1"+zone
	slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip},
		Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
		NodeName:   &node, Zone: &zone,
		Hints: &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: zone}}},
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: slice.Namespace,
			Name: pod, UID: uid}})
}

// secret is one of those that clusters are full of: passwords, certificates,
// tokens, and what Helm keeps of a release (compressed, in base64, in base64).
func (m *maker) secret(int) runtime.Object {
	a := m.apps[m.IntN(len(m.apps))]
	secret := &corev1.Secret{ObjectMeta: m.about(a.name+"-"+m.word(), a.namespace),
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{}}
	secret.Kind, secret.APIVersion = "Secret", "v1"
	secret.Labels["app.kubernetes.io/name"] = a.name
	switch kind := m.IntN(20); {
	case kind < 9:
		for range 1 + m.spread(2, 0.8, 30) {
			secret.Data[m.word()+"-"+m.pick("password", "key", "token")] =
				[]byte(m.letters(nameLetters+"ABCDEFGHJKLMNPQRSTUVWXYZ", m.spread(32, 0.6, 500)))
		}
	case kind < 13:
		secret.Type = corev1.SecretTypeTLS
		secret.Annotations["cert-manager.io/certificate-name"] = a.name
		secret.Annotations["cert-manager.io/common-name"] = a.name + "." + a.namespace + ".example.com"
		secret.Data["tls.crt"] = m.pem("CERTIFICATE", 2*m.spread(900, 0.2, 3000))
		secret.Data["tls.key"] = m.pem("RSA PRIVATE KEY", 1190)
	case kind < 15:
		secret.Type = corev1.SecretTypeDockerConfigJson
		secret.Data[".dockerconfigjson"] = fmt.Appendf(nil,
			`{"auths":{"registry.example.com":{"username":%q,"auth":%q}}}`, m.word(), m.secretText(96))
	case kind < 16:
		secret.Type = corev1.SecretTypeServiceAccountToken
		secret.Annotations["kubernetes.io/service-account.uid"] = string(m.uid())
		secret.Data["token"] = []byte("eyJhbGciOiJSUzI1NiIsImtpZCI6I" + m.secretText(660))
		secret.Data["namespace"] = []byte(a.namespace)
	default:
		secret.Type = "helm.sh/release.v1"
		secret.Labels["owner"], secret.Labels["status"] = "helm", m.pick("deployed", "superseded")
		secret.Data["release"] = []byte(m.secretText(m.spread(6000, 0.8, 200000)))
	}
	secret.Name += "-" + m.letters(nameLetters, 5)
	m.own(&secret.ObjectMeta, "v1", map[string]any{"data": secret.Data, "type": secret.Type})
	return secret
}

// pem is so many random bytes in that armour.
func (m *maker) pem(what string, count int) []byte {
	text := "-----BEGIN " + what + "-----\n"
	for rest := m.secretText(count); rest != ""; {
		width := min(64, len(rest))
		text, rest = text+rest[:width]+"\n", rest[width:]
	}
	return []byte(text + "-----END " + what + "-----\n")
}

// node is one with its images, of which a kubelet names fifty.
func (m *maker) node(i int) runtime.Object {
	node := &corev1.Node{ObjectMeta: m.about(m.nodes[i%len(m.nodes)], "")}
	node.Kind, node.APIVersion = "Node", "v1"
	node.Labels = map[string]string{"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
		"kubernetes.io/hostname": node.Name, "node.kubernetes.io/instance-type": m.pick("m7i.4xlarge", "r7i.2xlarge"),
		"topology.kubernetes.io/region": "eu-central-1", "topology.kubernetes.io/zone": "eu-central-1" + m.pick("a", "b", "c"),
		"eks.amazonaws.com/nodegroup": m.word(), "eks.amazonaws.com/nodegroup-image": "ami-" + m.hex(17),
		"topology.ebs.csi.aws.com/zone": "eu-central-1" + m.pick("a", "b", "c")}
	node.Annotations["csi.volume.kubernetes.io/nodeid"] = `{"ebs.csi.aws.com":"i-` + m.hex(17) + `"}`
	node.Annotations["node.alpha.kubernetes.io/ttl"] = "0"
	node.Spec = corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/i-" + m.hex(17), PodCIDR: m.address() + "/24"}
	amounts := corev1.ResourceList{"cpu": resource.MustParse("16"), "pods": resource.MustParse("110"),
		"memory":            resource.MustParse(fmt.Sprintf("%dKi", 64000000+m.IntN(1000000))),
		"ephemeral-storage": resource.MustParse(fmt.Sprintf("%dKi", 104000000+m.IntN(1000000)))}
	node.Status = corev1.NodeStatus{Capacity: amounts, Allocatable: amounts,
		Addresses: []corev1.NodeAddress{{Type: "InternalIP", Address: m.address()}, {Type: "Hostname", Address: node.Name}},
		NodeInfo: corev1.NodeSystemInfo{MachineID: m.hex(32), SystemUUID: string(m.uid()), BootID: string(m.uid()),
			KernelVersion: "6.12.31-35.92.amzn2023.x86_64", OSImage: "Amazon Linux 2023.7", OperatingSystem: "linux",
			ContainerRuntimeVersion: "containerd://1.7.27", KubeletVersion: "v1.33.1-eks-1fbb135", Architecture: "amd64"}}
	for _, kind := range []corev1.NodeConditionType{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: kind, Status: "False",
			LastHeartbeatTime: m.time(), LastTransitionTime: m.time(), Reason: "Kubelet" + string(kind),
			Message: "kubelet has no " + m.word()})
	}
	for range 50 {
		a := m.apps[m.IntN(len(m.apps))]
		at := m.IntN(len(a.spec.Containers))
		name := a.spec.Containers[at].Image
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names: []string{name + "@sha256:" + a.images[at], name}, SizeBytes: int64(m.Uint32() % 1000000000)})
	}
	m.own(&node.ObjectMeta, "v1", map[string]any{"spec": node.Spec, "status": node.Status})
	return node
}

// application is a custom resource that names all it has deployed.
func (m *maker) application(int) runtime.Object {
	a := m.apps[m.IntN(len(m.apps))]
	about := m.about(a.name+"-"+m.letters(nameLetters, 5), a.namespace)
	about.Labels["app.kubernetes.io/instance"] = a.name
	var deployed, history []any
	for range 2 + m.spread(8, 0.8, 120) {
		deployed = append(deployed, map[string]any{"group": m.pick("", "apps", "batch", "policy"),
			"kind": m.pick("Deployment", "Service", "ConfigMap", "Secret", "Ingress"), "version": "v1",
			"name": a.name + "-" + m.word(), "namespace": a.namespace, "status": m.pick("Synced", "OutOfSync"),
			"health": map[string]any{"status": m.pick("Healthy", "Progressing"), "message": m.sentence(m.IntN(8))}})
	}
	for i := range 1 + m.IntN(10) {
		history = append(history, map[string]any{"id": int64(i), "revision": m.hex(40),
			"deployedAt": m.time().Format("2006-01-02T15:04:05Z07:00"), "source": m.source(a)})
	}
	spec := map[string]any{"project": m.word(), "source": m.source(a),
		"destination": map[string]any{"namespace": a.namespace, "server": "https://kubernetes.default.svc"}}
	status := map[string]any{"resources": deployed, "history": history,
		"sync":         map[string]any{"status": "Synced", "revision": m.hex(40)},
		"reconciledAt": m.time().Format("2006-01-02T15:04:05Z07:00")}
	m.own(&about, applications.GroupVersion().String(), map[string]any{"spec": spec, "status": status})
	metadata, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&about)
	if err != nil {
		panic(err) // our own metadata
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": metadata, "spec": spec, "status": status,
		"apiVersion": applications.GroupVersion().String(), "kind": applications.Kind}}
}

func (m *maker) source(a *app) map[string]any {
	return map[string]any{"repoURL": "https://git.example.com/" + a.namespace + "/" + a.name + ".git",
		"path": "deploy/" + m.word(), "targetRevision": m.pick("main", "HEAD", "v1.2.3"),
		"helm": map[string]any{"values": base64.StdEncoding.EncodeToString([]byte(m.sentence(m.spread(20, 0.7, 300))))}}
}
