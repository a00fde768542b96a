package replay

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

const protobufType = "application/vnd.kubernetes.protobuf"

// state is what changes of a pod: its version, and when that was written, in
// nanoseconds of the monotonic clock.
type state struct {
	version, written int64
}

// patch is a place of a model that is filled in when it is sent.
type patch struct {
	at, width int
	of        func(number int64, now *state) int64
}

// model is a pod that was encoded once. It stands for several: their number,
// version and time are filled in.
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

// appendFrom appends the pod, without its first bytes, as it is now.
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

// appendEvent appends a watch event of that pod.
func (m *model) appendEvent(out []byte, kind watch.EventType, number int64, now *state) []byte {
	around := m.events[kind]
	out = append(out, around.head...)
	out = m.appendFrom(out, 0, number, now)
	return append(out, around.tail...)
}

// find adds a patch for each place where `digits` stand.
func (m *model) find(digits string, of func(int64, *state) int64) {
	for at := 0; ; at += len(digits) {
		found := bytes.Index(m.bytes[at:], []byte(digits))
		if found < 0 {
			return
		}
		at += found
		m.patches = append(m.patches, patch{at, len(digits), of})
	}
}

// encoding is all that is sent in one media type, by the serializers of an API
// server.
type encoding struct {
	mediaType, watchType string
	serializer           runtime.SerializerInfo
	models               []model
}

func (e *encoding) isProtobuf() bool {
	return strings.HasPrefix(e.mediaType, protobufType)
}

func (e *encoding) encode(object runtime.Object) []byte {
	var out bytes.Buffer
	encoder := scheme.Codecs.EncoderForVersion(e.serializer.Serializer,
		corev1.SchemeGroupVersion)
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

// newModel encodes a pod and what may surround it.
func (e *encoding) newModel(pod *corev1.Pod) model {
	m := model{bytes: e.encode(pod), events: map[watch.EventType]envelope{}}
	m.find(versionDigits, func(_ int64, now *state) int64 { return now.version })
	m.find(numberDigits, func(number int64, _ *state) int64 { return number })
	m.find(stampDigits, func(_ int64, now *state) int64 { return now.written })
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		event := e.event(kind, m.bytes)
		at := bytes.Index(event, m.bytes)
		m.events[kind] = envelope{bytes.Clone(event[:at]), bytes.Clone(event[at+len(m.bytes):])}
	}
	m.item = len(kindOfPod)
	if e.isProtobuf() {
		raw, err := pod.Marshal()
		if err != nil {
			panic(err)
		}
		m.item = bytes.Index(m.bytes, raw)
	}
	return m
}

// How a pod's JSON begins, and an item's does not.
const kindOfPod = `{"kind":"Pod","apiVersion":"v1",`

// newList opens a page of a list, to which items are appended.
func (e *encoding) newList(meta metav1.ListMeta) []byte {
	list := &corev1.PodList{ListMeta: meta, Items: []corev1.Pod{}}
	if !e.isProtobuf() {
		return bytes.TrimSuffix(e.encode(list), []byte("]}"))
	}
	body, err := list.Marshal()
	if err != nil {
		panic(err)
	}
	return body
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
	whole := runtime.Unknown{Raw: list,
		TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	body, err := whole.Marshal()
	if err != nil {
		panic(err)
	}
	return append([]byte("k8s\x00"), body...)
}

// bookmark ends the initial events of a streaming list.
func (e *encoding) bookmark(version int64) []byte {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: fmt.Sprint(version),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	pod.Kind, pod.APIVersion = "Pod", "v1"
	return e.event(watch.Bookmark, e.encode(pod))
}

// expired is what a watch is told whose version was compacted away.
func (e *encoding) expired() []byte {
	status := &metav1.Status{Status: metav1.StatusFailure, Code: 410,
		Reason: metav1.StatusReasonExpired, Message: "too old resource version"}
	status.Kind, status.APIVersion = "Status", "v1"
	return e.event(watch.Error, e.encode(status))
}

func newEncoding(mediaType string, pods []*corev1.Pod) *encoding {
	info, is := runtime.SerializerInfoForMediaType(
		scheme.Codecs.SupportedMediaTypes(), mediaType)
	if !is {
		panic("no serializer for " + mediaType)
	}
	e := &encoding{mediaType: mediaType, watchType: mediaType, serializer: info}
	if e.isProtobuf() {
		e.watchType += ";stream=watch"
	}
	for _, pod := range pods {
		e.models = append(e.models, e.newModel(pod))
	}
	return e
}
