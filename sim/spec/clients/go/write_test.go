package clients

import (
	"context"
	"fmt"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
)

func deployment(namespace string, replicas int32) *appsapply.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "web"}
	return appsapply.Deployment("web", namespace).WithSpec(appsapply.DeploymentSpec().
		WithReplicas(replicas).
		WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(coreapply.PodTemplateSpec().WithLabels(labels).WithSpec(coreapply.PodSpec().
			WithContainers(coreapply.Container().WithName("app").WithImage("app:1")))))
}

func TestApplyWithTypedConfigurations(t *testing.T) {
	ctx, client, namespace := world(t)
	deployments := client.AppsV1().Deployments(namespace)
	mine := metav1.ApplyOptions{FieldManager: "mine"}
	made := must[*appsv1.Deployment](t)(deployments.Apply(ctx, deployment(namespace, 2), mine))
	if *made.Spec.Replicas != 2 || made.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		t.Fatal(made.Spec)
	}
	_, err := deployments.Apply(ctx, deployment(namespace, 3), metav1.ApplyOptions{FieldManager: "other"})
	if !errors.IsConflict(err) {
		t.Fatal(err)
	}
	forced := must[*appsv1.Deployment](t)(deployments.Apply(ctx, deployment(namespace, 3),
		metav1.ApplyOptions{FieldManager: "other", Force: true}))
	extracted := must[*appsapply.DeploymentApplyConfiguration](t)(appsapply.ExtractDeployment(forced, "other"))
	if *extracted.Spec.Replicas != 3 {
		t.Fatal(extracted.Spec)
	}
	extracted = must[*appsapply.DeploymentApplyConfiguration](t)(appsapply.ExtractDeployment(forced, "mine"))
	if extracted.Spec.Replicas != nil {
		t.Fatal("it lost the replicas, and has them still")
	}
}

func TestPatches(t *testing.T) {
	ctx, client, namespace := world(t)
	deployments := client.AppsV1().Deployments(namespace)
	must[*appsv1.Deployment](t)(deployments.Apply(ctx, deployment(namespace, 2), metav1.ApplyOptions{FieldManager: "a"}))
	for kind, patch := range map[types.PatchType]string{
		types.JSONPatchType:           `[{"op":"replace","path":"/spec/replicas","value":7}]`,
		types.MergePatchType:          `{"spec":{"replicas":7}}`,
		types.StrategicMergePatchType: `{"spec":{"replicas":7,"template":{"spec":{"containers":[{"name":"b","image":"b"}]}}}}`,
	} {
		patched := must[*appsv1.Deployment](t)(deployments.Patch(ctx, "web", kind, []byte(patch), metav1.PatchOptions{}))
		if *patched.Spec.Replicas != 7 {
			t.Fatal(kind, patched.Spec)
		}
	}
	merged := must[*appsv1.Deployment](t)(deployments.Get(ctx, "web", metav1.GetOptions{}))
	if len(merged.Spec.Template.Spec.Containers) != 2 {
		t.Fatal(merged.Spec.Template.Spec.Containers)
	}
}

func TestRetryOnConflict(t *testing.T) {
	ctx, client, namespace := world(t)
	maps := client.CoreV1().ConfigMaps(namespace)
	must[*corev1.ConfigMap](t)(maps.Create(ctx, configMap("count", "0"), metav1.CreateOptions{}))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			err := retry.OnError(retry.DefaultBackoff, errors.IsConflict, func() error {
				current, err := maps.Get(ctx, "count", metav1.GetOptions{})
				if err != nil {
					return err
				}
				current.Data["value"] += "x"
				_, err = maps.Update(ctx, current, metav1.UpdateOptions{})
				return err
			})
			if err != nil && !errors.IsConflict(err) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	current := must[*corev1.ConfigMap](t)(maps.Get(ctx, "count", metav1.GetOptions{}))
	stale := current.DeepCopy()
	must[*corev1.ConfigMap](t)(maps.Update(ctx, func() *corev1.ConfigMap { current.Data["value"] = "y"; return current }(), metav1.UpdateOptions{}))
	stale.Data["value"] = "z"
	if _, err := maps.Update(ctx, stale, metav1.UpdateOptions{}); !errors.IsConflict(err) {
		t.Fatal(err)
	}
}

func TestDynamicClient(t *testing.T) {
	ctx, _, namespace := world(t)
	client := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(connect(t))).Resource(configMaps).Namespace(namespace)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"generateName": "made-"},
		"data": map[string]any{"a": "1"},
	}}
	made := must[*unstructured.Unstructured](t)(client.Create(ctx, object, metav1.CreateOptions{}))
	must[*unstructured.Unstructured](t)(client.Patch(ctx, made.GetName(), types.MergePatchType,
		[]byte(`{"data":{"a":"2"}}`), metav1.PatchOptions{}))
	applied := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": made.GetName()},
		"data": map[string]any{"b": "3"},
	}}
	both := must[*unstructured.Unstructured](t)(client.Apply(ctx, made.GetName(), applied, metav1.ApplyOptions{FieldManager: "a"}))
	data, _, _ := unstructured.NestedStringMap(both.Object, "data")
	if data["a"] != "2" || data["b"] != "3" {
		t.Fatal(data)
	}
	if err := client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(ctx, made.GetName(), metav1.GetOptions{}); !errors.IsNotFound(err) {
		t.Fatal(err)
	}
}

func TestPager(t *testing.T) {
	ctx, client, namespace := world(t)
	maps := client.CoreV1().ConfigMaps(namespace)
	for i := range 25 {
		must[*corev1.ConfigMap](t)(maps.Create(ctx, configMap(fmt.Sprint("map-", i), ""), metav1.CreateOptions{}))
	}
	pages := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return maps.List(ctx, options)
	}))
	pages.PageSize = 10
	count := 0
	err := pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: "app=shop"}, func(runtime.Object) error { count++; return nil })
	if err != nil || count != 25 {
		t.Fatal(count, err)
	}
}

func TestScaleStatusAndEviction(t *testing.T) {
	ctx, client, namespace := world(t)
	deployments := client.AppsV1().Deployments(namespace)
	made := must[*appsv1.Deployment](t)(deployments.Apply(ctx, deployment(namespace, 2), metav1.ApplyOptions{FieldManager: "a"}))
	scale := must[*autoscalingv1.Scale](t)(deployments.GetScale(ctx, "web", metav1.GetOptions{}))
	scale.Spec.Replicas = 9
	must[*autoscalingv1.Scale](t)(deployments.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{}))
	made = must[*appsv1.Deployment](t)(deployments.Get(ctx, "web", metav1.GetOptions{}))
	if *made.Spec.Replicas != 9 || made.Generation != 2 {
		t.Fatal(*made.Spec.Replicas, made.Generation)
	}
	made.Status.Replicas = 9
	made = must[*appsv1.Deployment](t)(deployments.UpdateStatus(ctx, made, metav1.UpdateOptions{}))
	if made.Status.Replicas != 9 || made.Generation != 2 {
		t.Fatal(made.Status, made.Generation)
	}
	pods := client.CoreV1().Pods(namespace)
	must[*corev1.Pod](t)(pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}, metav1.CreateOptions{}))
	err := pods.EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "pod"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Get(ctx, "pod", metav1.GetOptions{}); !errors.IsNotFound(err) {
		t.Fatal(err)
	}
}

func TestErrorsAreTyped(t *testing.T) {
	ctx, client, namespace := world(t)
	maps := client.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Get(ctx, "none", metav1.GetOptions{}); !errors.IsNotFound(err) {
		t.Error(err)
	}
	must[*corev1.ConfigMap](t)(maps.Create(ctx, configMap("a", ""), metav1.CreateOptions{}))
	if _, err := maps.Create(ctx, configMap("a", ""), metav1.CreateOptions{}); !errors.IsAlreadyExists(err) {
		t.Error(err)
	}
	if _, err := maps.Create(ctx, configMap("A_", ""), metav1.CreateOptions{}); !errors.IsInvalid(err) {
		t.Error(err)
	}
	if _, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "a b"}); !errors.IsBadRequest(err) {
		t.Error(err)
	}
	wrong := types.UID("other")
	err := maps.Delete(context.Background(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	if !errors.IsConflict(err) {
		t.Error(err)
	}
}
