package replay

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// app is what has pods: they share its spec, as the pods of a Deployment do.
type app struct {
	name, namespace string
	owner           metav1.OwnerReference
	prefix          string // each pod of the app has a name that begins with this
	labels          map[string]string
	annotations     map[string]string
	spec            corev1.PodSpec
	images          []string // the digest of each container's image
}

func (m *maker) newApp() *app {
	a := &app{name: m.word() + "-" + m.word(), namespace: m.namespace(),
		labels: map[string]string{}, annotations: map[string]string{}}
	controller, blocks := true, true
	a.owner = metav1.OwnerReference{APIVersion: "apps/v1", UID: m.uid(),
		Controller: &controller, BlockOwnerDeletion: &blocks}
	a.owner.Kind, a.prefix = m.pick("ReplicaSet", "ReplicaSet", "ReplicaSet", "ReplicaSet",
		"StatefulSet", "DaemonSet", "Job"), a.name
	switch a.owner.Kind {
	case "ReplicaSet":
		hash := m.letters(nameLetters, 10)
		a.prefix += "-" + hash
		a.labels["pod-template-hash"] = hash
	case "Job":
		a.owner.APIVersion = "batch/v1"
		a.prefix += fmt.Sprintf("-%d", 29000000+m.IntN(400000))
		a.labels["batch.kubernetes.io/job-name"] = a.prefix
		a.labels["batch.kubernetes.io/controller-uid"] = string(a.owner.UID)
	default:
		a.labels["controller-revision-hash"] = m.letters(nameLetters, 10)
	}
	a.owner.Name = a.prefix
	a.decorate(m)
	a.specify(m)
	return a
}

func (a *app) decorate(m *maker) {
	a.labels["app.kubernetes.io/name"] = a.name
	a.labels["app.kubernetes.io/instance"] = a.name + "-" + a.namespace
	if m.IntN(2) == 0 {
		a.labels["app.kubernetes.io/version"] = fmt.Sprintf("%d.%d.%d", m.IntN(9), m.IntN(40), m.IntN(20))
		a.labels["helm.sh/chart"] = fmt.Sprintf("%s-%d.%d.0", a.name, m.IntN(9), m.IntN(40))
	}
	for range m.IntN(5) {
		a.labels[m.word()+".example.com/"+m.word()] = m.word()
	}
	if m.IntN(2) == 0 {
		a.annotations["checksum/config"] = m.hex(64)
		a.annotations["checksum/secret"] = m.hex(64)
	}
	if m.IntN(2) == 0 {
		a.annotations["prometheus.io/scrape"] = "true"
		a.annotations["prometheus.io/port"] = fmt.Sprint(8000 + m.IntN(1000))
	}
	if m.IntN(4) == 0 {
		a.annotations["kubectl.kubernetes.io/restartedAt"] = m.time().Format("2006-01-02T15:04:05Z07:00")
	}
}

func (a *app) specify(m *maker) {
	a.spec = spec(a.name, m.IntN(1000))
	a.spec.NodeName, a.spec.Containers = "", nil
	for i := range 1 + m.spread(0.7, 0.8, 5) {
		a.spec.Containers = append(a.spec.Containers, a.container(m, i))
		a.images = append(a.images, m.hex(64))
	}
	for range m.IntN(3) {
		init := a.container(m, len(a.spec.InitContainers)+10)
		init.LivenessProbe, init.ReadinessProbe = nil, nil
		a.spec.InitContainers = append(a.spec.InitContainers, init)
		a.images = append(a.images, m.hex(64))
	}
	for range m.IntN(4) {
		a.spec.Volumes = append(a.spec.Volumes, corev1.Volume{Name: m.word() + "-" + m.hex(4),
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
				SecretName: a.name + "-" + m.word()}}})
	}
	if m.IntN(3) == 0 {
		a.spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry-" + m.word()}}
	}
	if m.IntN(3) == 0 {
		a.spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1,
			TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: "ScheduleAnyway",
			LabelSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"app.kubernetes.io/name": a.name}}}}
	}
}

func (a *app) container(m *maker, i int) corev1.Container {
	name := a.name
	if i > 0 {
		name = m.word() + "-" + m.hex(3)
	}
	image := m.pick("registry.example.com/", "123456789012.dkr.ecr.eu-central-1.amazonaws.com/",
		"ghcr.io/", "quay.io/") + m.word() + "/" + name + ":" + m.pick("v1.", "v2.", "2026.") +
		fmt.Sprint(m.IntN(300)) + "-" + m.hex(7)
	c := container(name, image, int32(3000+m.IntN(7000)), m.IntN(1000))
	for range m.spread(8, 0.9, 80) {
		field := corev1.EnvVar{Name: m.letters("ABCDEFGHIJKLMNOPRSTUVWXYZ", 4) + "_" +
			m.letters("ABCDEFGHIJKLMNOPRSTUVWXYZ", 7)}
		switch m.IntN(3) {
		case 0:
			field.ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: a.name + "-" + m.word()},
				Key:                  m.word()}}
		case 1:
			field.Value = "https://" + m.word() + "." + a.namespace + ".svc.cluster.local:8443/" + m.word()
		default:
			field.Value = m.sentence(1 + m.IntN(4))
		}
		c.Env = append(c.Env, field)
	}
	c.Resources.Requests["cpu"] = resource.MustParse(fmt.Sprintf("%dm", 10*(1+m.IntN(400))))
	c.Resources.Requests["memory"] = resource.MustParse(fmt.Sprintf("%dMi", 32*(1+m.IntN(200))))
	return c
}

// pod is one of an app; few apps have many.
func (m *maker) pod(int) runtime.Object {
	most := len(m.apps)
	a := m.apps[min(m.IntN(most), m.IntN(most), m.IntN(most))]
	pod := &corev1.Pod{ObjectMeta: m.about(a.prefix+"-"+m.letters(nameLetters, 5), a.namespace)}
	pod.Kind, pod.APIVersion, pod.GenerateName = "Pod", "v1", a.prefix+"-"
	pod.OwnerReferences = []metav1.OwnerReference{a.owner}
	for name, value := range a.labels {
		pod.Labels[name] = value
	}
	for name, value := range a.annotations {
		pod.Annotations[name] = value
	}
	pod.Annotations[stampName] = stampMark
	a.spec.DeepCopyInto(&pod.Spec)
	pod.Spec.NodeName = m.nodes[m.IntN(len(m.nodes))]
	token := "kube-api-access-" + m.letters(nameLetters, 5)
	pod.Spec.Volumes[1].Name = token
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].VolumeMounts[1].Name = token
	}
	for i := range pod.Spec.InitContainers {
		pod.Spec.InitContainers[i].VolumeMounts[1].Name = token
	}
	m.run(pod, a)
	m.own(&pod.ObjectMeta, "v1", map[string]any{"spec": pod.Spec, "status": pod.Status})
	return pod
}

// run gives a pod the status of one that runs; that of a Job is done.
func (m *maker) run(pod *corev1.Pod, a *app) {
	start, ip, host := pod.CreationTimestamp, m.address(), m.address()
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, HostIP: host, PodIP: ip,
		HostIPs: []corev1.HostIP{{IP: host}}, PodIPs: []corev1.PodIP{{IP: ip}},
		StartTime: &start, QOSClass: corev1.PodQOSBurstable}
	if a.owner.Kind == "Job" {
		pod.Status.Phase = corev1.PodSucceeded
	}
	for _, kind := range []corev1.PodConditionType{"PodReadyToStartContainers",
		"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind,
			Status: corev1.ConditionTrue, LastTransitionTime: m.after(start, 60)})
	}
	if m.IntN(3) == 0 { // what the CNI plugin leaves
		network, _ := json.Marshal([]map[string]any{{"name": "k8s-pod-network",
			"ips": []string{ip}, "mac": fmt.Sprintf("%s:%s:%s", m.hex(2), m.hex(2), m.hex(2)),
			"default": true, "dns": map[string]any{}}})
		pod.Annotations["k8s.v1.cni.cncf.io/network-status"] = string(network)
		pod.Annotations["cni.projectcalico.org/containerID"] = m.hex(64)
		pod.Annotations["cni.projectcalico.org/podIP"] = ip + "/32"
	}
	for i := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
			m.containerStatus(&pod.Spec.Containers[i], a.images[i], start))
	}
	for i := range pod.Spec.InitContainers {
		one := m.containerStatus(&pod.Spec.InitContainers[i],
			a.images[len(pod.Spec.Containers)+i], start)
		one.State = corev1.ContainerState{Terminated: m.ended(start, one.ContainerID)}
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, one)
	}
}

func (m *maker) containerStatus(c *corev1.Container, digest string, start metav1.Time) corev1.ContainerStatus {
	started := true
	status := corev1.ContainerStatus{Name: c.Name, Ready: true, Started: &started, Image: c.Image,
		ImageID: c.Image + "@sha256:" + digest, ContainerID: "containerd://" + m.hex(64),
		State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: m.after(start, 300)}}}
	if m.IntN(6) == 0 {
		status.RestartCount = int32(1 + m.IntN(30))
		status.LastTerminationState.Terminated = m.ended(start, "containerd://"+m.hex(64))
	}
	return status
}

func (m *maker) ended(start metav1.Time, id string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: m.after(start, 100),
		FinishedAt: m.after(start, 100000), ContainerID: id}
}

// endpointSlice is that of a Service: most have a few endpoints, some a hundred.
func (m *maker) endpointSlice(int) runtime.Object {
	a := m.apps[m.IntN(len(m.apps))]
	slice := newEndpointSlice(m.about(a.name+"-"+m.letters(nameLetters, 5), a.namespace))
	slice.GenerateName = a.name + "-"
	controller := true
	slice.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service",
		Name: a.name, UID: m.uid(), Controller: &controller, BlockOwnerDeletion: &controller}}
	slice.Labels["kubernetes.io/service-name"] = a.name
	slice.Labels["endpointslice.kubernetes.io/managed-by"] = "endpointslice-controller.k8s.io"
	slice.Labels["app.kubernetes.io/name"] = a.name
	slice.Annotations["endpoints.kubernetes.io/last-change-trigger-time"] =
		m.time().Format("2006-01-02T15:04:05Z07:00")
	for range 1 + m.spread(3, 1.3, 99) {
		addEndpoint(slice, m.address(), m.nodes[m.IntN(len(m.nodes))], m.pick("a", "b", "c"),
			a.prefix+"-"+m.letters(nameLetters, 5), types.UID(m.uid()))
	}
	m.own(&slice.ObjectMeta, "discovery.k8s.io/v1",
		map[string]any{"endpoints": slice.Endpoints, "ports": slice.Ports})
	return slice
}
