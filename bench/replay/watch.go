package replay

import (
	"net/http"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/watch"
)

// A stream is written in pieces of this size, or when there is no more to say.
const chunk = 64 << 10

// order is what the open watch, or the next one, shall do.
type order struct {
	what  watch.EventType // Modified, Deleted, or Error: the version is gone
	count int             // of changes,
	burst int             // so many at once,
	pause time.Duration   // and then nothing for so long
}

// Update has `count` pods change in turn, as fast as the client reads. It
// returns the sum of what a handler reads of them.
func (s *Server) Update(count int) int64 {
	return s.Bursts(count, count, 0)
}

// Bursts has `count` pods change in turn, `burst` at once, a burst every
// `pause`.
func (s *Server) Bursts(count, burst int, pause time.Duration) int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.orders <- order{watch.Modified, count, burst, pause}
	return s.sum(s.next, count)
}

// Expire ends the watch with 410 Gone; the next one sees that a pod is deleted
// once it has seen all that it asks for.
func (s *Server) Expire() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.orders <- order{what: watch.Error}
	s.orders <- order{what: watch.Deleted}
}

// monotonic is the clock that contenders read too, whatever their language.
func monotonic() int64 {
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}

// watching is an open watch.
type watching struct {
	server *Server
	as     *encoding
	to     http.ResponseWriter
	gone   <-chan struct{} // closed when the client is
	bytes  []byte
	err    error
}

func (s *Server) watch(to http.ResponseWriter, r *http.Request, as *encoding, initial bool) {
	w := &watching{server: s, as: as, to: to, gone: r.Context().Done()}
	pods, version := s.snapshot()
	s.mutex.Lock()
	orders := s.orders
	s.mutex.Unlock()
	to.Header().Set("Content-Type", as.watchType)
	if initial {
		for i := range pods {
			w.send(watch.Added, i, &pods[i])
		}
		w.bytes = append(w.bytes, as.bookmark(version)...)
	}
	w.flush()
	for w.err == nil {
		select {
		case <-w.gone:
			return
		case now := <-orders:
			if !w.obey(now) {
				return
			}
		}
	}
}

// obey returns whether the watch goes on.
func (w *watching) obey(now order) bool {
	switch now.what {
	case watch.Modified:
		w.changes(&now)
	case watch.Deleted:
		pod, at := w.server.change()
		w.send(watch.Deleted, pod, &at)
	case watch.Error:
		w.bytes = append(w.bytes, w.as.expired()...)
	}
	w.flush()
	return now.what != watch.Error
}

// changes sends what was ordered, in time.
func (w *watching) changes(now *order) {
	due := time.Now()
	for sent := 0; sent < now.count && w.err == nil; sent++ {
		if sent > 0 && sent%now.burst == 0 {
			w.flush()
			due = due.Add(now.pause)
			select {
			case <-w.gone:
				return
			case <-time.After(time.Until(due)):
			}
		}
		pod, at := w.server.change()
		w.send(watch.Modified, pod, &at)
	}
}

// change writes the pod whose turn it is.
func (s *Server) change() (int, state) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	pod := s.next
	s.next = (s.next + 1) % len(s.pods)
	s.version++
	s.pods[pod] = state{s.version, monotonic()}
	return pod, s.pods[pod]
}

func (w *watching) send(kind watch.EventType, pod int, now *state) {
	w.bytes = w.as.model(pod).appendEvent(w.bytes, kind, int64(pod), now)
	if len(w.bytes) >= chunk {
		w.flush()
	}
}

func (w *watching) flush() {
	if w.err == nil {
		_, w.err = w.to.Write(w.bytes)
	}
	if w.err == nil {
		w.err = http.NewResponseController(w.to).Flush()
	}
	w.bytes = w.bytes[:0]
}
