package replay

import (
	"bytes"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

const protobufType = "application/vnd.kubernetes.protobuf"

// frame is one watch event, encoded; the version's digits stand at `at`.
type frame struct {
	bytes []byte
	at    []int
}

// encoding is all that is sent in one media type.
type encoding struct {
	mediaType, watchType string
	added, modified      []frame
	serializer           runtime.SerializerInfo
	pods                 []*corev1.Pod
}

func newFrame(text []byte) frame {
	f := frame{bytes: text}
	for at := 0; ; {
		found := bytes.Index(text[at:], []byte(versionDigits))
		if found < 0 {
			return f
		}
		f.at = append(f.at, at+found)
		at += found + len(versionDigits)
	}
}

// appendTo appends the frame with that version in it.
func (f *frame) appendTo(out []byte, version int64) []byte {
	start := len(out)
	out = append(out, f.bytes...)
	for _, at := range f.at {
		copy(out[start+at:], fmt.Sprintf("%0*d", len(versionDigits), version))
	}
	return out
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

// event encodes a watch event as an API server frames it.
func (e *encoding) event(kind watch.EventType, object runtime.Object) []byte {
	var out bytes.Buffer
	stream := e.serializer.StreamSerializer
	event := &metav1.WatchEvent{Type: string(kind),
		Object: runtime.RawExtension{Raw: e.encode(object)}}
	writer := stream.Framer.NewFrameWriter(&out)
	if err := stream.Serializer.Encode(event, writer); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// bookmark ends the initial events of a streaming list.
func (e *encoding) bookmark(version int64) []byte {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: fmt.Sprint(version),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	pod.Kind, pod.APIVersion = "Pod", "v1"
	return e.event(watch.Bookmark, pod)
}

// page encodes pods [from, to) as a list, whose items name no kind.
func (e *encoding) page(from, to int, version int64) []byte {
	list := &corev1.PodList{}
	list.ResourceVersion = fmt.Sprint(version)
	if to < len(e.pods) {
		left := int64(len(e.pods) - to)
		list.Continue, list.RemainingItemCount = fmt.Sprint(to), &left
	}
	for i, pod := range e.pods[from:to] {
		item := *pod
		item.TypeMeta = metav1.TypeMeta{}
		item.ResourceVersion = fmt.Sprint(firstVersion + int64(from+i))
		list.Items = append(list.Items, item)
	}
	return e.encode(list)
}

func newEncoding(mediaType string, pods []*corev1.Pod) *encoding {
	info, is := runtime.SerializerInfoForMediaType(
		scheme.Codecs.SupportedMediaTypes(), mediaType)
	if !is {
		panic("no serializer for " + mediaType)
	}
	e := &encoding{mediaType: mediaType, watchType: mediaType,
		serializer: info, pods: pods}
	if strings.HasPrefix(mediaType, protobufType) {
		e.watchType += ";stream=watch"
	}
	for _, pod := range pods {
		e.added = append(e.added, newFrame(e.event(watch.Added, pod)))
		e.modified = append(e.modified, newFrame(e.event(watch.Modified, pod)))
	}
	return e
}
