package gateway

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	pb "sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"
)

// What the suite's image echo-basic says of a request.
type echoed struct {
	Path      string      `json:"path"`
	Host      string      `json:"host"`
	Method    string      `json:"method"`
	Proto     string      `json:"proto"`
	Headers   http.Header `json:"headers"`
	HTTPPort  string      `json:"httpPort"`
	Namespace string      `json:"namespace"`
	Ingress   string      `json:"ingress"`
	Service   string      `json:"service"`
	Pod       string      `json:"pod"`
	TLS       *echoedTLS  `json:"tls,omitempty"`
}

type echoedTLS struct {
	Version            string   `json:"version"`
	ServerName         string   `json:"serverName"`
	NegotiatedProtocol string   `json:"negotiatedProtocol,omitempty"`
	CipherSuite        string   `json:"cipherSuite"`
	PeerCertificates   []string `json:"peerCertificates,omitempty"`
}

type echo struct {
	pods *pods
	grpc *grpc.Server
}

// startEcho answers at the addresses of all Pods as the image would in each of
// them: HTTP/1.1, h2c and gRPC on 3000 and 3001, TLS on 18443 (see pods.lua).
func startEcho(t *testing.T, pods *pods) {
	handler := &echo{pods: pods, grpc: grpc.NewServer()}
	pb.RegisterGrpcEchoServer(handler.grpc, &grpcEcho{pods: pods})
	mux := http.NewServeMux()
	mux.Handle("/ws", websocket.Handler(func(connection *websocket.Conn) {
		_, _ = io.Copy(connection, connection)
	}))
	mux.Handle("/status/", http.HandlerFunc(answerStatus))
	mux.Handle("/retry/", failFirst(handler))
	mux.Handle("/", handler)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	for _, port := range []string{"3000", "3001", "18443"} {
		listener, err := net.Listen("tcp4", "0.0.0.0:"+port)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: mux, Protocols: protocols}
		t.Cleanup(func() { server.Close() })
		if port == "18443" {
			listener = tls.NewListener(listener, &tls.Config{GetConfigForClient: pods.certificate})
		}
		go server.Serve(listener)
	}
}

func answerStatus(w http.ResponseWriter, r *http.Request) {
	code, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/status/"))
	if err != nil || code < 200 || code > 599 {
		code = http.StatusBadRequest
	}
	w.WriteHeader(code)
}

// failFirst answers the first requests with a uuid by the status that they
// name, as many as they say.
func failFirst(next http.Handler) http.Handler {
	var lock sync.Mutex
	seen := map[string]int{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		least, _ := strconv.Atoi(query.Get("succeedAfter"))
		code, err := strconv.Atoi(query.Get("responseCode"))
		lock.Lock()
		seen[query.Get("uuid")]++
		count := seen[query.Get("uuid")]
		lock.Unlock()
		if err == nil && count <= least {
			w.WriteHeader(code)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		e.grpc.ServeHTTP(w, r)
		return
	}
	pod, err := e.pods.of(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	pod.write("Echoing back request made to %s to client (%s)", r.RequestURI, r.RemoteAddr)
	if delay, err := time.ParseDuration(r.URL.Query().Get("delay")); err == nil {
		time.Sleep(delay)
	}
	setHeaders(w.Header(), r.Header["X-Echo-Set-Header"])
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(echoed{Path: r.RequestURI, Host: r.Host, Method: r.Method,
		Proto: r.Proto, Headers: r.Header, HTTPPort: "3000",
		Namespace: pod.object.Namespace, Pod: pod.object.Name, TLS: describe(r.TLS)})
}

// setHeaders does what requests ask for: "Name:value, Name:value".
func setHeaders(header http.Header, wishes []string) {
	for _, wish := range strings.Split(strings.Join(wishes, ","), ",") {
		if name, value, found := strings.Cut(strings.TrimSpace(wish), ":"); found {
			header.Add(name, strings.TrimSpace(value))
		}
	}
}

func describe(state *tls.ConnectionState) *echoedTLS {
	if state == nil {
		return nil
	}
	said := &echoedTLS{Version: strings.Replace(tls.VersionName(state.Version), "TLS ", "TLSv", 1),
		ServerName: state.ServerName, NegotiatedProtocol: state.NegotiatedProtocol,
		CipherSuite: tls.CipherSuiteName(state.CipherSuite)}
	for _, certificate := range state.PeerCertificates {
		said.PeerCertificates = append(said.PeerCertificates, string(pem.EncodeToMemory(
			&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})))
	}
	return said
}

type grpcEcho struct {
	pb.UnimplementedGrpcEchoServer
	pods *pods
}

func (g *grpcEcho) Echo(ctx context.Context, _ *pb.EchoRequest) (*pb.EchoResponse, error) {
	return g.say(ctx, "Echo")
}

func (g *grpcEcho) EchoTwo(ctx context.Context, _ *pb.EchoRequest) (*pb.EchoResponse, error) {
	return g.say(ctx, "EchoTwo")
}

func (g *grpcEcho) say(ctx context.Context, method string) (*pb.EchoResponse, error) {
	pod, err := g.pods.at(ctx, ctx.Value(http.LocalAddrContextKey).(net.Addr))
	if err != nil {
		return nil, err
	}
	said := &pb.Assertions{
		FullyQualifiedMethod: "/" + pb.GrpcEcho_ServiceDesc.ServiceName + "/" + method,
		Context:              &pb.Context{Namespace: pod.object.Namespace, Pod: pod.object.Name},
	}
	received, _ := metadata.FromIncomingContext(ctx)
	for name, values := range received {
		for _, value := range values {
			if name == ":authority" {
				said.Authority = value
			}
			said.Headers = append(said.Headers, &pb.Header{Key: name, Value: value})
		}
	}
	return &pb.EchoResponse{Assertions: said}, nil
}
