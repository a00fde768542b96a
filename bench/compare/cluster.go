package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster is the API server that controllers work against: a simulator that is
// started here, or the one of a kubeconfig.
type cluster struct {
	kubeconfig string
	process    *exec.Cmd // of the simulator
	config     *rest.Config
	client     *http.Client
}

const (
	widgets = "/apis/bench.kubelua.example/v1/namespaces/%s/widgets"
	writers = 16 // that fill a namespace
)

var errConflict = errors.New("it is there already")

func newCluster(root, build, kubeconfig string) (c *cluster, err error) {
	c = &cluster{kubeconfig: kubeconfig}
	if kubeconfig == "" {
		if err = c.startSimulator(root, build); err != nil {
			return nil, err
		}
	}
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig); err == nil {
		c.client, err = rest.HTTPClientFor(c.config)
	}
	if err == nil {
		err = c.define()
	}
	if err != nil {
		c.close()
	}
	return c, err
}

func (c *cluster) startSimulator(root, build string) error {
	c.kubeconfig = filepath.Join(build, "bench", "simulator.yaml")
	os.Remove(c.kubeconfig)
	c.process = exec.Command(filepath.Join(root, "bin", "kubelua"), "sim", "--listen",
		"127.0.0.1:0", "--write-kubeconfig", c.kubeconfig)
	c.process.Env = append(os.Environ(), "KUBELUA_BUILD="+build)
	c.process.Stderr = os.Stderr
	if err := c.process.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if info, err := os.Stat(c.kubeconfig); err == nil && info.Size() > 0 {
			return nil
		}
	}
	c.close()
	return errors.New("the simulator did not start")
}

func (c *cluster) close() {
	if c.process != nil {
		c.process.Process.Kill()
		c.process.Wait()
	}
}

// cpu is what the simulator has used, in seconds.
func (c *cluster) cpu() float64 {
	if c.process == nil {
		return 0
	}
	return usedCPU(c.process.Process.Pid)
}

// ask sends a request; `answer` may be nil.
func (c *cluster) ask(method, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, c.config.Host+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusConflict:
		return errConflict
	case response.StatusCode >= 300:
		return fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, said)
	case answer != nil:
		return json.Unmarshal(said, answer)
	}
	return nil
}

type object = map[string]any

// define has the server know Widgets.
func (c *cluster) define() error {
	text, integer := object{"type": "string"}, object{"type": "integer", "format": "int64"}
	env := object{"type": "array", "items": object{"type": "object",
		"properties": object{"name": text, "value": text}}}
	schema := object{"type": "object", "properties": object{
		"spec": object{"type": "object", "properties": object{
			"image": text, "size": integer, "stamp": integer, "env": env}}}}
	err := c.ask(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": "widgets.bench.kubelua.example"},
		"spec": object{
			"group": "bench.kubelua.example", "scope": "Namespaced",
			"names": object{"kind": "Widget", "plural": "widgets", "singular": "widget"},
			"versions": []object{{"name": "v1", "served": true, "storage": true,
				"schema": object{"openAPIV3Schema": schema}}}}}, nil)
	if err != nil && err != errConflict {
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = c.ask(http.MethodGet, fmt.Sprintf(widgets, "default"), nil, nil); err == nil {
			return nil
		}
	}
	return err
}

func widget(i int) object {
	env := make([]object, 16)
	for k := range env {
		env[k] = object{"name": fmt.Sprintf("VARIABLE_%d", k),
			"value": fmt.Sprintf("the value of %d in widget %d", k, i)}
	}
	return object{
		"apiVersion": "bench.kubelua.example/v1", "kind": "Widget",
		"metadata": object{"name": fmt.Sprintf("w-%05d", i),
			"labels": object{"app": "bench", "team": fmt.Sprintf("team-%d", i%10)}},
		"spec": object{"image": fmt.Sprintf("registry.example.com/widget:%d", i), "size": i,
			"stamp": 0, "env": env},
	}
}

// fill makes a namespace of so many Widgets.
func (c *cluster) fill(namespace string, count int) error {
	if err := c.ask(http.MethodPost, "/api/v1/namespaces", object{"apiVersion": "v1",
		"kind": "Namespace", "metadata": object{"name": namespace}}, nil); err != nil {
		return err
	}
	return writeAll(count, func(i int) error {
		return c.ask(http.MethodPost, fmt.Sprintf(widgets, namespace), widget(i), nil)
	})
}

// writeAll calls `write` with each number below count, some at a time; a writer that
// fails stops.
func writeAll(count int, write func(i int) error) error {
	var group sync.WaitGroup
	failures := make(chan error, writers)
	for first := range writers {
		group.Go(func() {
			for i := first; i < count; i += writers {
				if err := write(i); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failures)
	return <-failures
}

func monotonic() int64 {
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}

// change writes into so many Widgets when it did so, one after the other.
func (c *cluster) change(namespace string, of changes) error {
	pause := time.NewTicker(time.Duration(of.PauseMS) * time.Millisecond)
	defer pause.Stop()
	for i := range of.Count {
		<-pause.C
		path := fmt.Sprintf(widgets+"/w-%05d", namespace, i)
		if err := c.ask(http.MethodPatch, path,
			object{"spec": object{"stamp": monotonic()}}, nil); err != nil {
			return err
		}
	}
	return nil
}

// verify fails unless each Widget has its ConfigMap, which tells its stamp.
func (c *cluster) verify(namespace string, count int) error {
	type list struct {
		Items []struct {
			Metadata struct {
				Name            string
				UID             string
				OwnerReferences []struct {
					UID        string
					Controller bool
				}
			}
			Spec struct{ Stamp int64 }
			Data map[string]string
		}
	}
	var wanted, found list
	if err := c.ask(http.MethodGet, fmt.Sprintf(widgets, namespace), nil, &wanted); err != nil {
		return err
	}
	path := fmt.Sprintf("/api/v1/namespaces/%s/configmaps", namespace)
	if err := c.ask(http.MethodGet, path, nil, &found); err != nil {
		return err
	}
	wants := map[string]int{}
	for i, one := range wanted.Items {
		wants[one.Metadata.Name] = i
	}
	right := 0
	for _, one := range found.Items {
		i, is := wants[one.Metadata.Name]
		if !is {
			continue // kube-root-ca.crt
		}
		owner, want := one.Metadata.OwnerReferences, wanted.Items[i]
		if len(owner) != 1 || !owner[0].Controller || owner[0].UID != want.Metadata.UID ||
			one.Data["stamp"] != fmt.Sprint(want.Spec.Stamp) {
			return fmt.Errorf("%s is not what its Widget wants: %v", one.Metadata.Name, one)
		}
		right++
	}
	if right != count {
		return fmt.Errorf("%d of %d Widgets have their ConfigMap", right, count)
	}
	return nil
}
