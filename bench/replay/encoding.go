package replay

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

const protobufType = "application/vnd.kubernetes.protobuf"

// state is what changes of an object: its model, its version, and when that was
// written, in nanoseconds of the monotonic clock.
type state struct {
	version, written int64
	model            int
}

// patch is a place of a model that is filled in when it is sent.
type patch struct {
	at, width int
	of        func(number int64, now *state) int64
}

// model is an object that was encoded once. It stands for several: their
// number, version and time are filled in.
type model struct {
	bytes   []byte
	item    int // where that begins which an element of a list has too
	patches []patch
	events  map[watch.EventType]envelope
}

// envelope is what surrounds an object in a watch event.
type envelope struct {
	head, tail []byte
}

// appendFrom appends the object, without its first bytes, as it is now.
func (m *model) appendFrom(out []byte, first int, number int64, now *state) []byte {
	start := len(out) - first
	out = append(out, m.bytes[first:]...)
	for _, p := range m.patches {
		rest := p.of(number, now)
		for at := start + p.at + p.width - 1; at >= start+p.at; at-- {
			out[at] = byte('0' + rest%10)
			rest /= 10
		}
	}
	return out
}

// appendEvent appends a watch event of that object.
func (m *model) appendEvent(out []byte, kind watch.EventType, number int64, now *state) []byte {
	around := m.events[kind]
	out = append(out, around.head...)
	out = m.appendFrom(out, 0, number, now)
	return append(out, around.tail...)
}

// find adds a patch for each place where `mark` stands.
func (m *model) find(mark string, of func(int64, *state) int64) {
	for at := 0; ; at += len(mark) {
		found := bytes.Index(m.bytes[at:], []byte(mark))
		if found < 0 {
			return
		}
		at += found
		m.patches = append(m.patches, patch{at, len(mark), of})
	}
}

// encoding is all that is sent in one media type, by the serializers of an API
// server.
type encoding struct {
	kind                 schema.GroupVersionKind
	mediaType, watchType string
	serializer           runtime.SerializerInfo
	models               []model
}

func (e *encoding) isProtobuf() bool {
	return strings.HasPrefix(e.mediaType, protobufType)
}

func (e *encoding) encode(object runtime.Object) []byte {
	if custom, is := object.(*unstructured.Unstructured); is {
		text, err := json.Marshal(custom.Object)
		if err != nil {
			panic(err) // our own object
		}
		return text
	}
	var out bytes.Buffer
	encoder := scheme.Codecs.EncoderForVersion(e.serializer.Serializer,
		e.kind.GroupVersion())
	if err := encoder.Encode(object, &out); err != nil {
		panic(err) // our own object
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// event frames an encoded object as an API server does.
func (e *encoding) event(kind watch.EventType, object []byte) []byte {
	var out bytes.Buffer
	stream := e.serializer.StreamSerializer
	event := &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: object}}
	if err := stream.Serializer.Encode(event, stream.Framer.NewFrameWriter(&out)); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// newModel encodes an object and what may surround it.
func (e *encoding) newModel(object runtime.Object) model {
	m := model{bytes: e.encode(object), events: map[watch.EventType]envelope{}}
	m.find(versionMark, func(_ int64, now *state) int64 { return now.version })
	m.find(numberMark, func(number int64, _ *state) int64 { return number })
	m.find(stampMark, func(_ int64, now *state) int64 { return now.written })
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		event := e.event(kind, m.bytes)
		at := bytes.Index(event, m.bytes)
		m.events[kind] = envelope{bytes.Clone(event[:at]), bytes.Clone(event[at+len(m.bytes):])}
	}
	m.item = e.itemOf(object, m.bytes)
	return m
}

// itemOf returns where that begins which an element of a list has too: elements
// of built-in kinds do not repeat their kind.
func (e *encoding) itemOf(object runtime.Object, encoded []byte) int {
	if e.isProtobuf() {
		raw, err := object.(interface{ Marshal() ([]byte, error) }).Marshal()
		if err != nil {
			panic(err)
		}
		return bytes.Index(encoded, raw)
	}
	kind := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, e.kind.Kind, e.kind.GroupVersion())
	if bytes.HasPrefix(encoded, []byte(kind)) {
		return len(kind)
	}
	return len("{")
}

// newList opens a page of a list, to which items are appended.
func (e *encoding) newList(about metav1.ListMeta) []byte {
	if e.isProtobuf() { // field 1, then its length
		raw, err := about.Marshal()
		if err != nil {
			panic(err)
		}
		return append(binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(raw))), raw...)
	}
	text, err := json.Marshal(about)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"kind":"%sList","apiVersion":%q,"metadata":%s,"items":[`,
		e.kind.Kind, e.kind.GroupVersion(), text)
}

// appendItem appends an item that is not the `first`, or is.
func (e *encoding) appendItem(list []byte, m *model, first bool, number int64, now *state) []byte {
	if e.isProtobuf() { // field 2, then its length
		list = binary.AppendUvarint(append(list, 2<<3|2), uint64(len(m.bytes)-m.item))
		return m.appendFrom(list, m.item, number, now)
	}
	if !first {
		list = append(list, ',')
	}
	return m.appendFrom(append(list, '{'), m.item, number, now)
}

// closeList makes a page a body.
func (e *encoding) closeList(list []byte) []byte {
	if !e.isProtobuf() {
		return append(list, "]}\n"...)
	}
	whole := runtime.Unknown{Raw: list, TypeMeta: runtime.TypeMeta{
		APIVersion: e.kind.GroupVersion().String(), Kind: e.kind.Kind + "List"}}
	body, err := whole.Marshal()
	if err != nil {
		panic(err)
	}
	return append([]byte("k8s\x00"), body...)
}

// bookmark ends the initial events of a streaming list.
func (e *encoding) bookmark(version int64) []byte {
	object, err := scheme.Scheme.New(e.kind)
	if err != nil { // not a built-in kind
		object = &unstructured.Unstructured{}
	}
	object.GetObjectKind().SetGroupVersionKind(e.kind)
	about, err := meta.Accessor(object)
	if err != nil {
		panic(err)
	}
	about.SetResourceVersion(fmt.Sprint(version))
	about.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return e.event(watch.Bookmark, e.encode(object))
}

// expired is what a watch is told whose version was compacted away.
func (e *encoding) expired() []byte {
	status := &metav1.Status{Status: metav1.StatusFailure, Code: 410,
		Reason: metav1.StatusReasonExpired, Message: "too old resource version"}
	status.Kind, status.APIVersion = "Status", "v1"
	core := encoding{kind: schema.GroupVersionKind{Version: "v1", Kind: "Status"},
		serializer: e.serializer}
	return e.event(watch.Error, core.encode(status))
}

func newEncoding(mediaType string, kind schema.GroupVersionKind, objects []runtime.Object) *encoding {
	info, is := runtime.SerializerInfoForMediaType(
		scheme.Codecs.SupportedMediaTypes(), mediaType)
	if !is {
		panic("no serializer for " + mediaType)
	}
	e := &encoding{kind: kind, mediaType: mediaType, watchType: mediaType, serializer: info}
	if e.isProtobuf() {
		e.watchType += ";stream=watch"
	}
	for _, object := range objects {
		e.models = append(e.models, e.newModel(object))
	}
	return e
}
