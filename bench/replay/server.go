package replay

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

const (
	firstVersion = 100000001
	chunk        = 64 << 10
)

// Server is an API server that knows pods only. It says the same to all: what
// a client asks to be left out (managedFields) is sent all the same.
type Server struct {
	URL            string
	json, protobuf *encoding
	listener       net.Listener

	mutex   sync.Mutex // guards updates
	updates chan int   // how many changes the open watch shall see
}

// NewServer generates `count` pods and listens on a free port of loopback.
func NewServer(count int) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for i := range count {
		pods = append(pods, Pod(i))
	}
	s := &Server{URL: "http://" + listener.Addr().String(), listener: listener,
		json: newEncoding("application/json", pods), protobuf: newEncoding(protobufType, pods)}
	s.Reset()
	go http.Serve(listener, s)
	return s, nil
}

// Reset forgets changes that nobody asked for: a new client is to come.
func (s *Server) Reset() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.updates = make(chan int, 1)
}

// Update has the open watch, or the next one, see so many changes.
func (s *Server) Update(count int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.updates <- count
}

// Close stops listening.
func (s *Server) Close() {
	s.listener.Close()
}

// Bytes is the mean size of a pod: its JSON, its protobuf.
func (s *Server) Bytes() (int, int) {
	mean := func(e *encoding) (sum int) {
		for _, pod := range e.pods {
			sum += len(e.encode(pod))
		}
		return sum / len(e.pods)
	}
	return mean(s.json), mean(s.protobuf)
}

func (s *Server) version() int64 {
	return firstVersion + int64(len(s.json.pods)) - 1
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
	from, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	to := len(e.pods)
	if limit > 0 {
		to = min(to, from+limit)
	}
	w.Header().Set("Content-Type", e.mediaType)
	w.Write(e.page(min(from, to), to, s.version()))
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, e *encoding, initial bool) {
	out := stream{to: w}
	version := s.version()
	s.mutex.Lock()
	updates := s.updates
	s.mutex.Unlock()
	w.Header().Set("Content-Type", e.watchType)
	if initial {
		for i := range e.added {
			out.send(&e.added[i], firstVersion+int64(i))
		}
		out.bytes = append(out.bytes, e.bookmark(version)...)
	}
	out.flush()
	for out.err == nil {
		select {
		case <-r.Context().Done():
			return
		case count := <-updates:
			for i := 0; i < count && out.err == nil; i++ {
				version++
				out.send(&e.modified[i%len(e.modified)], version)
			}
			out.flush()
		}
	}
}

// stream writes frames in chunks, each of which is flushed at once.
type stream struct {
	to    http.ResponseWriter
	bytes []byte
	err   error
}

func (s *stream) send(f *frame, version int64) {
	s.bytes = f.appendTo(s.bytes, version)
	if len(s.bytes) >= chunk {
		s.flush()
	}
}

func (s *stream) flush() {
	if s.err == nil {
		_, s.err = s.to.Write(s.bytes)
	}
	if s.err == nil {
		s.err = http.NewResponseController(s.to).Flush()
	}
	s.bytes = s.bytes[:0]
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
