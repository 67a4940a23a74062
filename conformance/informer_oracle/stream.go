package main

import (
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// streamEventsMax is more than a script has: a stream never makes the source wait.
const streamEventsMax = 4096

// stream is one watch. All of it belongs to its source, under the source's lock.
type stream struct {
	source *source
	events chan watch.Event
	// awaitsEnd says that the end of the initial events is held back.
	awaitsEnd bool
}

// Stop is the client's end of the watch.
func (s *stream) Stop() {
	s.source.lock.Lock()
	defer s.source.lock.Unlock()
	s.source.forget(s)
}

// ResultChan has the events.
func (s *stream) ResultChan() <-chan watch.Event { return s.events }

func (s *stream) send(event watch.Event) {
	event.Object = event.Object.DeepCopyObject()
	s.events <- event
}

func (s *source) open() *stream {
	stream := &stream{source: s, events: make(chan watch.Event, streamEventsMax)}
	s.streams = append(s.streams, stream)
	return stream
}

func (s *source) broadcast(event watch.Event) {
	for _, stream := range s.streams {
		stream.send(event)
	}
}

// end closes a stream after what it was sent.
func (s *source) end(stream *stream) {
	if s.forget(stream) {
		close(stream.events)
	}
}

// endWith tells a stream why it ends.
func (s *source) endWith(stream *stream, err error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		object := status.Status()
		stream.send(watch.Event{Type: watch.Error, Object: &object})
	}
	s.end(stream)
}

func (s *source) endAll() {
	for _, stream := range slices.Clone(s.streams) {
		s.end(stream)
	}
}

func (s *source) endAllWith(err error) {
	for _, stream := range slices.Clone(s.streams) {
		s.endWith(stream, err)
	}
}

// forget says whether the stream was still open.
func (s *source) forget(stream *stream) bool {
	place := slices.Index(s.streams, stream)
	if place < 0 {
		return false
	}
	s.streams = slices.Delete(s.streams, place, place+1)
	return true
}

func bookmark(version int) watch.Event {
	object := &corev1.ConfigMap{}
	object.ResourceVersion = strconv.Itoa(version)
	return watch.Event{Type: watch.Bookmark, Object: object}
}

func initialEventsEnd(version int) watch.Event {
	event := bookmark(version)
	event.Object.(*corev1.ConfigMap).Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return event
}

func expired() error { return apierrors.NewResourceExpired("too old resource version") }

// tooLarge is the answer of a server that has not seen the version yet.
func tooLarge() error {
	err := apierrors.NewTimeoutError("Too large resource version", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// statusError is the error that a script calls by its code or name.
func statusError(name string) error {
	switch name {
	case "410":
		return expired()
	case "429":
		return apierrors.NewTooManyRequests("too many requests", 1)
	case "500":
		return apierrors.NewInternalError(errors.New("broken"))
	case "too-large":
		return tooLarge()
	case "connection":
		refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
		return &net.OpError{Op: "dial", Net: "tcp", Err: refused}
	}
	code, err := strconv.Atoi(name)
	if err != nil || http.StatusText(code) == "" {
		panic("no error is called " + name)
	}
	resource := schema.GroupResource{Resource: "configmaps"}
	return apierrors.NewGenericServerResponse(code, "GET", resource, "", http.StatusText(code), 0, true)
}
