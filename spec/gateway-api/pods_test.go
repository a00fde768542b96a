package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pods knows which Pod of pods.lua has an address, and what a server has logged
// at it.
type pods struct {
	client client.Client
	mutex  sync.Mutex
	known  map[string]*pod // by address
}

type pod struct {
	object corev1.Pod
	mutex  sync.Mutex
	log    strings.Builder
}

// at: the Pod at which a connection has arrived.
func (p *pods) at(ctx context.Context, address net.Addr) (*pod, error) {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if found := p.known[host]; found != nil {
		return found, nil
	}
	var list corev1.PodList
	if err := p.client.List(ctx, &list, client.MatchingFields{"status.podIP": host}); err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("%d Pods have the address %s", len(list.Items), host)
	}
	found := &pod{object: list.Items[0]}
	p.known[host] = found
	return found, nil
}

// of: the Pod that a request has reached.
func (p *pods) of(request *http.Request) (*pod, error) {
	return p.at(request.Context(), request.Context().Value(http.LocalAddrContextKey).(net.Addr))
}

func (p *pod) write(format string, values ...any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	fmt.Fprintf(&p.log, format+"\n", values...)
}

func (p *pod) text() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.log.String()
}

// logs answers requests for the log of a Pod, for which a real API server would
// ask the Pod's kubelet. Other requests go on to the API server.
type logs struct {
	pods *pods
	next http.RoundTripper
}

func (l *logs) RoundTrip(request *http.Request) (*http.Response, error) {
	// /api/v1/namespaces/NAMESPACE/pods/NAME/log
	parts := strings.Split(request.URL.Path, "/")
	if len(parts) != 8 || parts[5] != "pods" || parts[7] != "log" {
		return l.next.RoundTrip(request)
	}
	var text string
	l.pods.mutex.Lock()
	defer l.pods.mutex.Unlock()
	for _, one := range l.pods.known {
		if one.object.Namespace == parts[4] && one.object.Name == parts[6] {
			text = one.text()
		}
	}
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)),
		ContentLength: int64(len(text)), Request: request}, nil
}

// certificate: what the server of a Pod shows, from the Secret that the Pod
// mounts; and the authorities of its clients, from the ConfigMap that it mounts.
func (p *pods) certificate(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	found, err := p.at(hello.Context(), hello.Conn.LocalAddr())
	if err != nil {
		return nil, err
	}
	config := &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	for _, volume := range found.object.Spec.Volumes {
		switch {
		case volume.Secret != nil:
			err = p.readPair(hello.Context(), found, volume.Secret.SecretName, config)
		case volume.ConfigMap != nil:
			err = p.readAuthorities(hello.Context(), found, volume.ConfigMap.Name, config)
		}
		if err != nil {
			return nil, err
		}
	}
	return config, nil
}

func (p *pods) readPair(ctx context.Context, at *pod, name string, config *tls.Config) error {
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: at.object.Namespace, Name: name}
	if err := p.client.Get(ctx, key, &secret); err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	config.Certificates = []tls.Certificate{pair}
	return err
}

func (p *pods) readAuthorities(ctx context.Context, at *pod, name string, config *tls.Config) error {
	var authorities corev1.ConfigMap
	key := client.ObjectKey{Namespace: at.object.Namespace, Name: name}
	if err := p.client.Get(ctx, key, &authorities); err != nil {
		return err
	}
	config.ClientAuth = tls.VerifyClientCertIfGiven
	config.ClientCAs = x509.NewCertPool()
	config.ClientCAs.AppendCertsFromPEM([]byte(authorities.Data["ca.crt"]))
	return nil
}
