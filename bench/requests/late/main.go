// A server of HTTP/2 that answers late: each request after -delay, and
// /connections at once, with how many connections there were.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// certificate makes a self-signed certificate. The client does not verify it.
func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func main() {
	delay := flag.Duration("delay", 200*time.Millisecond, "before each answer")
	streams := flag.Int("streams", 1000, "at once on a connection, as kube-apiserver allows")
	flag.Parse()
	var connections atomic.Int64
	answer := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/connections" {
			fmt.Fprint(w, connections.Load())
			return
		}
		time.Sleep(*delay)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"ConfigMap","metadata":{"name":"x"}}`)
	}
	server := &http.Server{
		Handler:   http.HandlerFunc(answer),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate()}},
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: *streams},
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		},
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("https://%s\n", listener.Addr())
	log.Fatal(server.ServeTLS(listener, "", ""))
}
