package replay

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	firstVersion = 100000001
	models       = 10000 // pods that differ by more than name, uid, version
)

// Server is an API server that knows only what it was given. It says the same
// to all: what a client asks to be left out (managedFields) is sent all the same.
type Server struct {
	URL      string
	listener net.Listener

	mutex  sync.Mutex // guards what follows
	served []*collection
}

// collection is the objects of one kind as they are now.
type collection struct {
	*Data
	stride int // from an object that changes to the one that changes next

	mutex   sync.Mutex // guards what follows
	objects []state
	version int64
	oldest  int64 // a watch from before that is told 410 Gone
	turns   int   // changes so far
	orders  chan order
}

// NewServer listens on a free port of loopback.
func NewServer() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + listener.Addr().String(), listener: listener}
	go http.Serve(listener, s)
	return s, nil
}

func newCollection(data *Data, count int) *collection {
	c := &collection{Data: data, stride: 1, objects: make([]state, count),
		version: firstVersion + int64(count) - 1, orders: make(chan order, 2)}
	for i := range c.objects {
		c.objects[i] = state{version: firstVersion + int64(i), model: i % data.Count()}
	}
	return c
}

// Serve makes so many objects in their first state, in place of all that was
// there before: a new client will connect.
func (s *Server) Serve(data *Data, count int) {
	s.serve(newCollection(data, count))
}

// Scatter is Serve, but changes jump from object to object, so that no memory of
// the client's is read in order.
func (s *Server) Scatter(data *Data, count int) {
	c := newCollection(data, count)
	for c.stride = count*5/8 + 1; gcd(c.stride, count) != 1; c.stride++ {
	}
	s.serve(c)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// ServeAll serves several kinds; the first one's objects can change.
func (s *Server) ServeAll(all []*Data) {
	var served []*collection
	for _, data := range all {
		served = append(served, newCollection(data, data.Count()))
	}
	s.serve(served...)
}

func (s *Server) serve(served ...*collection) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.served = served
}

// Close stops listening.
func (s *Server) Close() {
	s.listener.Close()
}

// Resources is what there is to watch.
func (s *Server) Resources() (all []schema.GroupVersionResource) {
	for _, c := range s.collections() {
		all = append(all, c.Resource)
	}
	return all
}

// Count is how many objects there are.
func (s *Server) Count() (sum int) {
	for _, c := range s.collections() {
		sum += len(c.objects)
	}
	return sum
}

// collections is what is served now.
func (s *Server) collections() []*collection {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.served
}

// Sum is what a handler reads of all objects.
func (s *Server) Sum() (sum int64) {
	for _, c := range s.collections() {
		c.mutex.Lock()
		for i := range c.objects {
			sum += c.lengths[c.objects[i].model]
		}
		c.mutex.Unlock()
	}
	return sum
}

// turn is the object that changes at that turn, and what it becomes.
func (c *collection) turn(number int) turn {
	if len(c.recorded) > 0 {
		return c.recorded[number%len(c.recorded)]
	}
	object := number * c.stride % len(c.objects)
	return turn{object, object % c.Count()}
}

// sum is what a handler reads of so many changes.
func (c *collection) sum(from, count int) (sum int64) {
	for number := from; number < from+count; number++ {
		sum += c.lengths[c.turn(number).model]
	}
	return sum
}

// snapshot is all objects as they are, and the version of that.
func (c *collection) snapshot() ([]state, int64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return append([]state(nil), c.objects...), c.version
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	for _, c := range s.collections() {
		if r.URL.Path != c.path() {
			continue
		}
		e := c.json
		if c.protobuf != nil && strings.HasPrefix(r.Header.Get("Accept"), protobufType) {
			e = c.protobuf
		}
		if is, _ := strconv.ParseBool(query.Get("watch")); is {
			c.watch(w, r, e, query)
		} else {
			c.list(w, e, query)
		}
		return
	}
	s.discover(w, r)
}

func (c *collection) list(w http.ResponseWriter, e *encoding, query url.Values) {
	objects, version := c.snapshot()
	from, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	to := len(objects)
	if limit > 0 {
		to = min(to, from+limit)
	}
	about := metav1.ListMeta{ResourceVersion: fmt.Sprint(version)}
	if to < len(objects) {
		left := int64(len(objects) - to)
		about.Continue, about.RemainingItemCount = fmt.Sprint(to), &left
	}
	body := e.newList(about)
	for i := from; i < to; i++ {
		body = e.appendItem(body, &e.models[objects[i].model], i == from, int64(i), &objects[i])
	}
	w.Header().Set("Content-Type", e.mediaType)
	w.Write(e.closeList(body))
}

// What can be done with what is served.
var watched = metav1.Verbs{"get", "list", "watch"}

// discover answers what a client may ask before it lists anything.
func (s *Server) discover(w http.ResponseWriter, r *http.Request) {
	groups := metav1.APIGroupList{Groups: []metav1.APIGroup{}}
	groups.Kind, groups.APIVersion = "APIGroupList", "v1"
	core := metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{{
		Name: "namespaces", SingularName: "namespace", Kind: "Namespace", Verbs: watched}}}
	answers := map[string]any{
		"/version": map[string]string{"major": "1", "minor": "37", "gitVersion": "v1.37.2"},
		"/api":     map[string]any{"kind": "APIVersions", "versions": []string{"v1"}},
		"/api/v1":  &core,
	}
	for _, c := range s.collections() {
		lists := &metav1.APIResourceList{GroupVersion: c.Kind.GroupVersion().String()}
		if c.Kind.Group == "" {
			lists = &core
		} else {
			version := metav1.GroupVersionForDiscovery{
				GroupVersion: lists.GroupVersion, Version: c.Kind.Version}
			groups.Groups = append(groups.Groups, metav1.APIGroup{Name: c.Kind.Group,
				Versions:         []metav1.GroupVersionForDiscovery{version},
				PreferredVersion: version})
			answers["/apis/"+lists.GroupVersion] = lists
		}
		lists.Kind = "APIResourceList"
		lists.APIResources = append(lists.APIResources, metav1.APIResource{
			Name: c.Resource.Resource, SingularName: strings.ToLower(c.Kind.Kind),
			Namespaced: c.namespaced, Kind: c.Kind.Kind, Verbs: watched})
	}
	core.Kind, answers["/apis"] = "APIResourceList", groups
	answer, is := answers[r.URL.Path]
	if !is {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}
