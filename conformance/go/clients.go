package main

import (
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var (
	configMapsResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secretsResource    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	podsResource       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// requestLog counts what an informer asks of the server.
type requestLog struct {
	mutex    sync.Mutex
	lists    int
	states   int
	resumes  int
	answered int
}

// counted wraps a transport: one log for one informer.
func (l *requestLog) counted(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		l.mutex.Lock()
		defer l.mutex.Unlock()
		query := request.URL.Query()
		switch {
		case query.Get("watch") != "true":
			l.lists++
		case query.Get("sendInitialEvents") == "true":
			l.states++
		default:
			l.resumes++
			if err == nil && response.StatusCode == http.StatusOK {
				l.answered++
			}
		}
		return response, err
	})
}

func (l *requestLog) counts() (lists, states, answered int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lists, l.states, l.answered
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func (h *harness) config(log *requestLog) *rest.Config {
	config := &rest.Config{Host: h.url, QPS: -1}
	if log != nil {
		config.Wrap(log.counted)
	}
	return config
}

func (h *harness) dynamic(log *requestLog) dynamic.Interface {
	return dynamic.NewForConfigOrDie(h.config(log))
}

func (h *harness) typed(log *requestLog) kubernetes.Interface {
	return kubernetes.NewForConfigOrDie(h.config(log))
}
