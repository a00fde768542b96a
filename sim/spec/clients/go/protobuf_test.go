package clients

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
)

// inProtobuf is a configuration that sends and accepts protobuf only.
func inProtobuf(t *testing.T) *rest.Config {
	config := connect(t)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf
	return config
}

func protobufClient(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	return must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(inProtobuf(t)))
}

func pointer[T any](value T) *T { return &value }

// varied is a Deployment whose values differ in form between protobuf and JSON.
func varied(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	half := intstr.FromString("50%")
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"b": "1", "a": "2"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: pointer[int32](0),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &half}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: pointer[int64](0),
					Containers: []corev1.Container{{
						Name: "app", Image: "app:1",
						Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
							corev1.ResourceCPU: resource.MustParse("0.5"), corev1.ResourceMemory: resource.MustParse("1024Mi"),
						}},
						Ports: []corev1.ContainerPort{{ContainerPort: 80}},
					}},
					Volumes: []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				},
			},
		},
	}
}

// same fails unless both objects are equal, apart from the time zones of times.
func same(t *testing.T, what string, got, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(normal(t, got), normal(t, wanted)) {
		t.Fatalf("%s in protobuf is %+v, in JSON %+v", what, got, wanted)
	}
}

// normal converts an object to the maps and lists of its JSON.
func normal(t *testing.T, object any) map[string]any {
	t.Helper()
	return must[map[string]any](t)(runtime.DefaultUnstructuredConverter.ToUnstructured(object))
}

func TestProtobufReadsAndWrites(t *testing.T) {
	ctx, json, namespace := world(t)
	protobuf := protobufClient(t)
	deployments := protobuf.AppsV1().Deployments(namespace)
	made := must[*appsv1.Deployment](t)(deployments.Create(ctx, varied("web"), metav1.CreateOptions{}))
	same(t, "what is made", made, must[*appsv1.Deployment](t)(json.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})))
	if cpu := made.Spec.Template.Spec.Containers[0].Resources.Limits.Cpu().String(); cpu != "500m" {
		t.Fatal(cpu)
	}
	made.Spec.Paused = true
	made = must[*appsv1.Deployment](t)(deployments.Update(ctx, made, metav1.UpdateOptions{}))
	made.Status.ObservedGeneration = made.Generation
	must[*appsv1.Deployment](t)(deployments.UpdateStatus(ctx, made, metav1.UpdateOptions{}))
	patched := must[*appsv1.Deployment](t)(deployments.Patch(ctx, "web", types.StrategicMergePatchType,
		[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"app:2"}]}}}}`), metav1.PatchOptions{}))
	if image := patched.Spec.Template.Spec.Containers[0].Image; image != "app:2" || !patched.Spec.Paused {
		t.Fatal(patched.Spec)
	}
	scale := must[interface{ GetName() string }](t)(deployments.GetScale(ctx, "web", metav1.GetOptions{}))
	if scale.GetName() != "web" {
		t.Fatal(scale)
	}
	if err := deployments.Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: pointer(metav1.DeletePropagationBackground)}); err != nil {
		t.Fatal(err)
	}
	if _, err := deployments.Get(ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	_, err := protobuf.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("A!", "1"), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || len(err.(*apierrors.StatusError).ErrStatus.Details.Causes) == 0 {
		t.Fatal(err)
	}
}

func TestProtobufListsInPagesAndCompressed(t *testing.T) {
	ctx, json, namespace := world(t)
	maps := protobufClient(t).CoreV1().ConfigMaps(namespace)
	for i := range 200 {
		must[*corev1.ConfigMap](t)(maps.Create(ctx, configMap(fmt.Sprintf("m%03d", i), strings.Repeat("x", 1000)), metav1.CreateOptions{}))
	}
	whole := must[*corev1.ConfigMapList](t)(maps.List(ctx, metav1.ListOptions{}))
	same(t, "a list", whole, must[*corev1.ConfigMapList](t)(json.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})))
	page := must[*corev1.ConfigMapList](t)(maps.List(ctx, metav1.ListOptions{Limit: 150}))
	rest := must[*corev1.ConfigMapList](t)(maps.List(ctx, metav1.ListOptions{Limit: 150, Continue: page.Continue}))
	if *page.RemainingItemCount != int64(len(rest.Items)) || len(page.Items)+len(rest.Items) != len(whole.Items) {
		t.Fatal(len(page.Items), len(rest.Items), len(whole.Items))
	}
}

func TestProtobufInformerOfMetadata(t *testing.T) {
	ctx, client, namespace := world(t)
	must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("first", "1"), metav1.CreateOptions{}))
	config := metadata.ConfigFor(inProtobuf(t))
	config.AcceptContentTypes = runtime.ContentTypeProtobuf
	factory := metadatainformer.NewFilteredSharedInformerFactory(
		must[metadata.Interface](t)(metadata.NewForConfig(config)), 0, namespace, nil)
	informer := factory.ForResource(configMaps)
	follow(t, ctx, client, namespace, tell(t, ctx, informer.Informer(), factory.Start))
}

func TestProtobufInformersOfManyKinds(t *testing.T) {
	ctx, _, namespace := world(t)
	client := protobufClient(t)
	must[*appsv1.Deployment](t)(client.AppsV1().Deployments(namespace).Create(ctx, varied("web"), metav1.CreateOptions{}))
	factory := informers.NewSharedInformerFactory(client, 0)
	deployments := factory.Apps().V1().Deployments().Lister().Deployments(namespace)
	factory.Core().V1().Namespaces().Informer()
	factory.Core().V1().ServiceAccounts().Informer()
	factory.Rbac().V1().ClusterRoles().Informer()
	factory.Apps().V1().Deployments().Informer()
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatal(kind, " is not synced")
		}
	}
	found := must[*appsv1.Deployment](t)(deployments.Get("web"))
	if found.Spec.Strategy.RollingUpdate.MaxSurge.String() != "50%" {
		t.Fatal(found.Spec.Strategy)
	}
	changed := found.DeepCopy()
	changed.Spec.Replicas = pointer[int32](3)
	must[*appsv1.Deployment](t)(client.AppsV1().Deployments(namespace).Update(ctx, changed, metav1.UpdateOptions{}))
	eventually(t, "the change arrives", func() bool {
		found, err := deployments.Get("web")
		return err == nil && *found.Spec.Replicas == 3
	})
}

// marshaler is an interface that the Go types of built-in kinds have.
type marshaler interface {
	runtime.Object
	Marshal() ([]byte, error)
}

// expectBytes gets a list in both forms: the protobuf must be the bytes that Go
// writes for the list in JSON.
func expectBytes(t *testing.T, ctx context.Context, client rest.Interface, path string) bool {
	t.Helper()
	ask := func(accept string) []byte {
		return must[[]byte](t)(client.Get().AbsPath(path).SetHeader("Accept", accept).DoRaw(ctx))
	}
	list, kind, err := scheme.Codecs.UniversalDeserializer().Decode(ask(runtime.ContentTypeJSON), nil, nil)
	if err != nil {
		t.Log(path, "is of no kind that client-go knows")
		return false
	}
	protobuf := ask(runtime.ContentTypeProtobuf)
	message := must[[]byte](t)(list.(marshaler).Marshal())
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}, Raw: message}
	wanted := append([]byte("k8s\x00"), must[[]byte](t)(unknown.Marshal())...)
	if !bytes.Equal(protobuf, wanted) {
		t.Errorf("%s: %q, not %q", path, protobuf, wanted)
	}
	return true
}

func TestProtobufIsWhatGoWrites(t *testing.T) {
	ctx, client, namespace := world(t)
	must[*appsv1.Deployment](t)(client.AppsV1().Deployments(namespace).Create(ctx, varied("web"), metav1.CreateOptions{}))
	must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("first", "1"), metav1.CreateOptions{}))
	_, all, err := client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, group := range all {
		version := must[schema.GroupVersion](t)(schema.ParseGroupVersion(group.GroupVersion))
		for _, kind := range group.APIResources {
			base := "/apis/" + group.GroupVersion
			if version.Group == "" {
				base = "/api/" + group.GroupVersion
			}
			if strings.Contains(kind.Verbs.String(), "list") && expectBytes(t, ctx, client.RESTClient(), base+"/"+kind.Name) {
				compared++
			}
		}
	}
	if compared < 50 {
		t.Fatal("only ", compared, " kinds were compared")
	}
}
