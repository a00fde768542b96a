// Package replay generates objects once and serves them, and changes of them, to
// whatever client asks, as fast as it reads. pods.go makes pods that resemble each
// other.
package replay

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	nodes      = 250
	namespaces = 40
	// What stands for a version, for the number of a pod and for the time of a
	// change until a frame is sent: as wide as any, so that nothing moves.
	versionMark = "@version@"
	numberMark  = "@@number@"
	stampMark   = "@@@@@@@@@@@written"
	stampName   = "bench.example.com/written" // the annotation that has it
)

var created = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// uid is a random one in the usual spelling, the same in every run; it ends in
// the number of the pod.
func uid(random *rand.Rand) types.UID {
	a, b := random.Uint64(), random.Uint64()
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-%04x-%03x%s", a>>32,
		a>>16&0xffff, a&0xfff, b>>48|0x8000, b&0xfff, numberMark))
}

func env(i int) []corev1.EnvVar {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{
				APIVersion: "v1", FieldPath: path}}}
	}
	return []corev1.EnvVar{
		field("POD_NAME", "metadata.name"),
		field("POD_IP", "status.podIP"),
		{Name: "LOG_LEVEL", Value: "info"},
		{Name: "UPSTREAM_URL", Value: fmt.Sprintf(
			"http://backend-%d.shop.svc.cluster.local:8080/api", i%97)},
	}
}

func probe(path string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString("http"), Scheme: "HTTP"}},
		TimeoutSeconds: 1, PeriodSeconds: 10,
		SuccessThreshold: 1, FailureThreshold: 3,
	}
}

func container(name, image string, port int32, i int) corev1.Container {
	return corev1.Container{
		Name: name, Image: image,
		Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: port, Protocol: "TCP"}},
		Env: env(i),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
			Limits: corev1.ResourceList{"memory": resource.MustParse("256Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", ReadOnly: true, MountPath: "/etc/shop"},
			{Name: "kube-api-access-x7k2p", ReadOnly: true,
				MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
		},
		LivenessProbe: probe("/healthz"), ReadinessProbe: probe("/ready"),
		TerminationMessagePath:   "/dev/termination-log",
		TerminationMessagePolicy: "File", ImagePullPolicy: "IfNotPresent",
	}
}

func volumes(app string) []corev1.Volume {
	mode, seconds := int32(420), int64(3607)
	return []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{DefaultMode: &mode,
				LocalObjectReference: corev1.LocalObjectReference{Name: app + "-config"}}}},
		{Name: "kube-api-access-x7k2p", VolumeSource: corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{DefaultMode: &mode,
				Sources: []corev1.VolumeProjection{
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
						ExpirationSeconds: &seconds, Path: "token"}},
					{ConfigMap: &corev1.ConfigMapProjection{
						LocalObjectReference: corev1.LocalObjectReference{
							Name: "kube-root-ca.crt"},
						Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
				}}}},
	}
}

func spec(app string, i int) corev1.PodSpec {
	grace, priority, seconds := int64(30), int32(0), int64(300)
	never, policy, links := false, corev1.PreemptLowerPriority, true
	tolerate := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: "Exists",
			Effect: "NoExecute", TolerationSeconds: &seconds}
	}
	return corev1.PodSpec{
		Volumes: volumes(app),
		Containers: []corev1.Container{
			container("app", "registry.example.com/shop/"+app+":v1.42.7", 8080, i),
		},
		RestartPolicy: "Always", TerminationGracePeriodSeconds: &grace,
		DNSPolicy: "ClusterFirst", ServiceAccountName: app,
		DeprecatedServiceAccount: app, NodeName: nodeName(i),
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &never},
		SchedulerName:   "default-scheduler", Priority: &priority,
		Tolerations: []corev1.Toleration{
			tolerate("node.kubernetes.io/not-ready"),
			tolerate("node.kubernetes.io/unreachable")},
		EnableServiceLinks: &links, PreemptionPolicy: &policy,
	}
}

func nodeName(i int) string {
	return fmt.Sprintf("ip-10-20-%d-%d.eu-central-1.compute.internal",
		i%nodes/16, i%nodes)
}

func containerStatus(c *corev1.Container, random *rand.Rand) corev1.ContainerStatus {
	started := true
	digest := func() string {
		return fmt.Sprintf("%016x%016x%016x%016x", random.Uint64(),
			random.Uint64(), random.Uint64(), random.Uint64())
	}
	return corev1.ContainerStatus{
		Name: c.Name, Ready: true, Started: &started, Image: c.Image,
		ImageID:     c.Image + "@sha256:" + digest(),
		ContainerID: "containerd://" + digest(),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{
			StartedAt: metav1.NewTime(created.Add(9 * time.Second))}},
	}
}

func status(pod *corev1.Pod, i int, random *rand.Rand) corev1.PodStatus {
	ip := fmt.Sprintf("10.244.%d.%d", i/250%250, i%250+1)
	host := fmt.Sprintf("10.20.%d.%d", i%nodes/16, i%nodes)
	start := metav1.NewTime(created)
	out := corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: host, PodIP: ip, StartTime: &start,
		HostIPs:  []corev1.HostIP{{IP: host}},
		PodIPs:   []corev1.PodIP{{IP: ip}},
		QOSClass: corev1.PodQOSBurstable,
	}
	for _, kind := range []corev1.PodConditionType{"PodReadyToStartContainers",
		"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		out.Conditions = append(out.Conditions, corev1.PodCondition{Type: kind,
			Status: corev1.ConditionTrue, LastTransitionTime: start})
	}
	for c := range pod.Spec.Containers {
		out.ContainerStatuses = append(out.ContainerStatuses,
			containerStatus(&pod.Spec.Containers[c], random))
	}
	return out
}

// NewPod makes a pod that has not run yet, as a client creates it.
func NewPod(i int) *corev1.Pod {
	model := pod(i % models)
	return &corev1.Pod{TypeMeta: model.TypeMeta, Spec: model.Spec,
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%05d", i), Labels: model.Labels}}
}

// Stamp is the annotation that says when an object was written.
const Stamp = stampName

// pod makes the model of a pod: of a Deployment, running; managedFields as the
// controller manager and a kubelet leave them.
func pod(i int) *corev1.Pod {
	random := rand.New(rand.NewPCG(uint64(i), 7))
	app := fmt.Sprintf("checkout-%03d", i%311)
	hash := fmt.Sprintf("%09x", random.Uint64()>>28)
	yes := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:         app + "-" + hash + "-" + numberMark,
		GenerateName: app + "-" + hash + "-",
		Namespace:    fmt.Sprintf("team-%02d", i%namespaces),
		UID:          uid(random), ResourceVersion: versionMark,
		CreationTimestamp: metav1.NewTime(created),
		Labels: map[string]string{"app.kubernetes.io/name": app,
			"app.kubernetes.io/part-of": "shop", "pod-template-hash": hash,
			"tier": "frontend"},
		Annotations: map[string]string{
			"bench.example.com/revision": versionMark,
			stampName:                    stampMark,
			"checksum/config":            fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1",
			Kind: "ReplicaSet", Name: app + "-" + hash, UID: uid(random),
			Controller: &yes, BlockOwnerDeletion: &yes}},
	}}
	pod.Kind, pod.APIVersion = "Pod", "v1"
	pod.Spec = spec(app, i)
	pod.Status = status(pod, i, random)
	pod.ManagedFields = []metav1.ManagedFieldsEntry{
		owns("kube-controller-manager", "", map[string]any{
			"metadata": pod.ObjectMeta, "spec": pod.Spec}),
		owns("kubelet", "status", map[string]any{"status": pod.Status}),
	}
	return pod
}
