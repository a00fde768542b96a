package replay

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	firstVersion = 100000001
	models       = 10000 // pods that differ by more than name, uid, version
)

// Server is an API server that knows pods only. It says the same to all: what
// a client asks to be left out (managedFields) is sent all the same.
type Server struct {
	URL            string
	json, protobuf *encoding
	lengths        []int64 // of what a handler reads of a model
	listener       net.Listener

	mutex   sync.Mutex // guards what follows
	pods    []state
	version int64
	next    int // the pod that changes next
	orders  chan order
}

// NewServer generates pods and listens on a free port of loopback. `most` is
// how many pods a client will see at most.
func NewServer(most int) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + listener.Addr().String(), listener: listener}
	var pods []*corev1.Pod
	for i := range min(most, models) {
		pods = append(pods, pod(i))
		s.lengths = append(s.lengths, int64(len(pods[i].Name)+
			len(pods[i].Status.Phase)+len(pods[i].Spec.NodeName)))
	}
	s.json = newEncoding("application/json", pods)
	s.protobuf = newEncoding(protobufType, pods)
	s.Reset(most)
	go http.Serve(listener, s)
	return s, nil
}

// Reset makes so many pods in their first state, and drops orders that no client
// has carried out: a new client will connect.
func (s *Server) Reset(count int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.pods = make([]state, count)
	for i := range s.pods {
		s.pods[i].version = firstVersion + int64(i)
	}
	s.version, s.next = firstVersion+int64(count)-1, 0
	s.orders = make(chan order, 2)
}

// Close stops listening.
func (s *Server) Close() {
	s.listener.Close()
}

// Bytes is the mean size of a pod: its JSON, its protobuf.
func (s *Server) Bytes() (int, int) {
	mean := func(e *encoding) (sum int) {
		for i := range e.models {
			sum += len(e.models[i].bytes)
		}
		return sum / len(e.models)
	}
	return mean(s.json), mean(s.protobuf)
}

// Sum is what a handler reads of all pods.
func (s *Server) Sum() int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.sum(0, len(s.pods))
}

// sum is what a handler reads of so many pods, in turn.
func (s *Server) sum(from, count int) (sum int64) {
	for i := from; i < from+count; i++ {
		sum += s.lengths[i%len(s.pods)%len(s.lengths)]
	}
	return sum
}

// snapshot is all pods as they are, and the version of that.
func (s *Server) snapshot() ([]state, int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]state(nil), s.pods...), s.version
}

func (e *encoding) model(i int) *model {
	return &e.models[i%len(e.models)]
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := s.json
	if strings.HasPrefix(r.Header.Get("Accept"), protobufType) {
		e = s.protobuf
	}
	query := r.URL.Query()
	switch {
	case r.URL.Path == "/api/v1/pods" && query.Get("watch") != "":
		s.watch(w, r, e, query.Get("sendInitialEvents") == "true")
	case r.URL.Path == "/api/v1/pods":
		s.list(w, e, query)
	default:
		discover(w, r)
	}
}

func (s *Server) list(w http.ResponseWriter, e *encoding, query url.Values) {
	pods, version := s.snapshot()
	from, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	to := len(pods)
	if limit > 0 {
		to = min(to, from+limit)
	}
	meta := metav1.ListMeta{ResourceVersion: fmt.Sprint(version)}
	if to < len(pods) {
		left := int64(len(pods) - to)
		meta.Continue, meta.RemainingItemCount = fmt.Sprint(to), &left
	}
	body := e.newList(meta)
	for i := from; i < to; i++ {
		body = e.appendItem(body, e.model(i), i == from, int64(i), &pods[i])
	}
	w.Header().Set("Content-Type", e.mediaType)
	w.Write(e.closeList(body))
}

// discover answers what a client may ask before it lists pods.
func discover(w http.ResponseWriter, r *http.Request) {
	answers := map[string]string{
		"/version": `{"major":"1","minor":"37","gitVersion":"v1.37.2"}`,
		"/api":     `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":    `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[` +
			`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod",` +
			`"verbs":["get","list","watch"],"shortNames":["po"]}]}`,
	}
	answer, is := answers[r.URL.Path]
	if !is {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write([]byte(answer))
}
