package replay

import (
	"net/http"
	"net/url"
	"strconv"
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

// Update has `count` objects change in turn, as fast as the client reads. It
// returns the sum of what a handler reads of them.
func (s *Server) Update(count int) int64 {
	return s.Bursts(count, count, 0)
}

// Bursts has `count` objects change in turn, `burst` at once, a burst every
// `pause`.
func (s *Server) Bursts(count, burst int, pause time.Duration) int64 {
	c := s.collections()[0]
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.orders <- order{watch.Modified, count, burst, pause}
	return c.sum(c.turns, count)
}

// Expire ends the watch with 410 Gone; the next one sees that an object is
// deleted once it has seen all that it asks for.
func (s *Server) Expire() {
	c := s.collections()[0]
	c.orders <- order{what: watch.Error}
	c.orders <- order{what: watch.Deleted}
}

// monotonic is the clock that contenders read too, whatever their language.
func monotonic() int64 {
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}

// watching is an open watch.
type watching struct {
	of    *collection
	as    *encoding
	to    http.ResponseWriter
	gone  <-chan struct{} // closed when the client is
	bytes []byte
	err   error
}

func (c *collection) watch(to http.ResponseWriter, r *http.Request, as *encoding, query url.Values) {
	w := &watching{of: c, as: as, to: to, gone: r.Context().Done()}
	to.Header().Set("Content-Type", as.watchType)
	if query.Get("sendInitialEvents") == "true" {
		w.initial()
	} else if c.isTooOld(query.Get("resourceVersion")) {
		w.bytes = append(w.bytes, as.expired()...)
		w.flush()
		return
	}
	w.flush()
	for w.err == nil {
		select {
		case <-w.gone:
			return
		case now := <-c.orders:
			if !w.obey(now) {
				return
			}
		}
	}
}

// initial sends what is there, as a streaming list does.
func (w *watching) initial() {
	objects, version := w.of.snapshot()
	for i := range objects {
		w.send(watch.Added, i, &objects[i])
	}
	w.bytes = append(w.bytes, w.as.bookmark(version)...)
}

// isTooOld is true if the server has forgotten changes after that version: a watch from
// there would miss them.
func (c *collection) isTooOld(version string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	from, err := strconv.ParseInt(version, 10, 64)
	return err == nil && from > 0 && from < c.oldest
}

// expire forgets all changes so far.
func (c *collection) expire() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.version++
	c.oldest = c.version
}

// obey returns whether the watch goes on.
func (w *watching) obey(now order) bool {
	switch now.what {
	case watch.Modified:
		w.changes(&now)
	case watch.Deleted:
		object, at := w.of.change()
		w.send(watch.Deleted, object, &at)
	case watch.Error:
		w.of.expire()
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
		object, at := w.of.change()
		w.send(watch.Modified, object, &at)
	}
}

// change writes the object whose turn it is.
func (c *collection) change() (int, state) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.turn(c.turns)
	c.turns++
	c.version++
	c.objects[now.object] = state{c.version, monotonic(), now.model}
	return now.object, c.objects[now.object]
}

func (w *watching) send(kind watch.EventType, object int, now *state) {
	w.bytes = w.as.models[now.model].appendEvent(w.bytes, kind, int64(object), now)
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
