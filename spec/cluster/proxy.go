package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const dialTimeout = 5 * time.Second

// proxy forwards TCP connections to one target and misbehaves on command. It
// knows nothing of TLS or HTTP: what it breaks is what a network breaks.
type proxy struct {
	target string

	mu       sync.Mutex
	thawed   *sync.Cond // frozen became false, or a link was cut
	links    map[*link]bool
	frozen   bool
	refusing bool
	limit    int64 // bytes to a client before its link is cut; -1: never
	total    int64
	refused  int64
	up, down int64 // bytes forwarded to the target, to the clients
}

// link is one forwarded connection. Everything but the sockets is guarded by
// proxy.mu; server is nil while it is being dialled.
type link struct {
	client, server *net.TCPConn
	left           int64 // of proxy.limit; -1: no limit
	dead           bool
}

func newProxy(target string) *proxy {
	p := &proxy{target: target, links: map[*link]bool{}, limit: -1}
	p.thawed = sync.NewCond(&p.mu)
	return p
}

func proxyMain() int {
	flags := flag.NewFlagSet("proxy", flag.ExitOnError)
	listen := flags.String("listen", "127.0.0.1:0", "where clients connect")
	target := flags.String("target", "", "HOST:PORT to forward to")
	control := flags.String("control", "127.0.0.1:0", "where commands arrive")
	addrFile := flags.String("addr-file", "",
		"file that gets PROXY=HOST:PORT and CONTROL=HOST:PORT")
	_ = flags.Parse(os.Args[1:])
	if *target == "" {
		fmt.Fprintln(os.Stderr, "proxy: --target HOST:PORT is missing")
		return 2
	}
	if err := runProxy(*listen, *target, *control, *addrFile); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		return 1
	}
	return 0
}

// runProxy serves until the command `quit`.
func runProxy(listen, target, control, addrFile string) error {
	clients, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	defer clients.Close()
	commands, err := net.Listen("tcp", control)
	if err != nil {
		return err
	}
	defer commands.Close()
	addresses := fmt.Sprintf("PROXY=%s\nCONTROL=%s\n",
		clients.Addr(), commands.Addr())
	fmt.Print(addresses)
	if addrFile != "" {
		if err := writeWhole(addrFile, addresses); err != nil {
			return err
		}
	}
	p := newProxy(target)
	go p.serve(clients)
	return p.serveControl(commands)
}

// writeWhole lets a reader that polls for the file see all of it or nothing.
func writeWhole(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (p *proxy) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, say: it may pass
			fmt.Fprintln(os.Stderr, "proxy: accept:", err)
			time.Sleep(50 * time.Millisecond)
			continue
		}
		go p.open(client.(*net.TCPConn))
	}
}

// open links a new client to the target and returns when both ways are over.
func (p *proxy) open(client *net.TCPConn) {
	l := &link{client: client}
	p.mu.Lock()
	if p.refusing {
		p.refused++
		p.mu.Unlock()
		abort(client)
		return
	}
	p.total++
	l.left = p.limit
	p.links[l] = true
	p.mu.Unlock()
	defer p.end(l)

	server, err := net.DialTimeout("tcp", p.target, dialTimeout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		p.cut(l)
		return
	}
	p.mu.Lock()
	l.server = server.(*net.TCPConn)
	if l.dead { // cut while it was dialled
		abort(l.server)
	}
	p.mu.Unlock()

	var ways sync.WaitGroup
	ways.Go(func() { p.forward(l, l.server, l.client, &p.up) })
	ways.Go(func() { p.forward(l, l.client, l.server, &p.down) })
	ways.Wait()
}

// forward copies one way until it ends. An orderly end is passed on as such,
// anything else cuts the link.
func (p *proxy) forward(l *link, to, from *net.TCPConn, count *int64) {
	buffer := make([]byte, 32<<10)
	for {
		n, readErr := from.Read(buffer)
		allowed, last, alive := p.admit(l, int64(n), count)
		if !alive {
			return
		}
		_, err := to.Write(buffer[:allowed])
		if err != nil || last || (readErr != nil && readErr != io.EOF) {
			p.cut(l)
			return
		}
		if readErr == io.EOF {
			_ = to.CloseWrite()
			return
		}
	}
}

// admit waits while the proxy is frozen and says how many of n bytes may pass,
// whether they are the last ones, and whether the link still lives.
func (p *proxy) admit(l *link, n int64, count *int64) (int64, bool, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.frozen && !l.dead {
		p.thawed.Wait()
	}
	if l.dead {
		return 0, true, false
	}
	last := false
	if count == &p.down && l.left >= 0 {
		n = min(n, l.left)
		l.left -= n
		last = l.left == 0
	}
	*count += n
	return n, last, true
}

func (p *proxy) cut(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutLocked(l)
}

func (p *proxy) cutLocked(l *link) {
	if l.dead {
		return
	}
	l.dead = true
	delete(p.links, l)
	abort(l.client)
	if l.server != nil {
		abort(l.server)
	}
	p.thawed.Broadcast()
}

// end closes what both peers have ended in order; what the kernel has still to
// deliver is delivered.
func (p *proxy) end(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.dead {
		return
	}
	l.dead = true
	delete(p.links, l)
	_ = l.client.Close()
	_ = l.server.Close()
}

// abort closes with a reset: no goodbye, and nothing is delivered any more.
func abort(connection *net.TCPConn) {
	_ = connection.SetLinger(0)
	_ = connection.Close()
}
