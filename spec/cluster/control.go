package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// The control port of the proxy takes one command a line and answers each with
// one line: "ok", a JSON object, or "error: ..." .

const controlUsage = "cut, freeze, thaw, refuse, accept, stats, " +
	"close-after N|off, quit"

// serveControl returns after `quit`.
func (p *proxy) serveControl(listener net.Listener) error {
	quit := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				failed <- err
				return
			}
			go p.converse(connection, quit)
		}
	}()
	select {
	case <-quit:
		return nil
	case err := <-failed:
		return err
	}
}

func (p *proxy) converse(connection net.Conn, quit chan<- struct{}) {
	defer connection.Close()
	lines := bufio.NewScanner(connection)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		fmt.Fprintln(connection, p.obey(words))
		if len(words) == 1 && words[0] == "quit" {
			quit <- struct{}{}
			return
		}
	}
}

// obey carries out one command; it has taken effect when the answer is there.
func (p *proxy) obey(words []string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch strings.Join(words, " ") {
	case "cut", "quit":
		for l := range p.links {
			p.cutLocked(l)
		}
	case "freeze":
		p.frozen = true
	case "thaw":
		p.frozen = false
		p.thawed.Broadcast()
	case "refuse":
		p.refusing = true
	case "accept":
		p.refusing = false
	case "stats":
		return p.statsLocked()
	default:
		if len(words) != 2 || words[0] != "close-after" {
			return "error: unknown command; there are " + controlUsage
		}
		return p.closeAfterLocked(words[1])
	}
	return "ok"
}

// closeAfterLocked counts from now for open connections, from their start for
// those to come.
func (p *proxy) closeAfterLocked(bytes string) string {
	limit := int64(-1)
	if bytes != "off" {
		n, err := strconv.ParseInt(bytes, 10, 64)
		if err != nil || n < 1 {
			return "error: close-after takes a number of bytes > 0, or off"
		}
		limit = n
	}
	p.limit = limit
	for l := range p.links {
		l.left = limit
	}
	return "ok"
}

func (p *proxy) statsLocked() string {
	text, _ := json.Marshal(map[string]any{
		"open":       len(p.links),
		"total":      p.total,
		"refused":    p.refused,
		"bytes_up":   p.up,
		"bytes_down": p.down,
		"frozen":     p.frozen,
		"refusing":   p.refusing,
	})
	return string(text)
}

// controlMain sends one command to a control port and prints the answer.
func controlMain() int {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: control HOST:PORT COMMAND;",
			"there are", controlUsage)
		return 2
	}
	answer, err := command(os.Args[1], strings.Join(os.Args[2:], " "))
	if err == nil && strings.HasPrefix(answer, "error: ") {
		err = fmt.Errorf("%s", strings.TrimPrefix(answer, "error: "))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "control:", err)
		return 1
	}
	fmt.Println(answer)
	return 0
}

func command(address, line string) (string, error) {
	connection, err := net.DialTimeout("tcp", address, dialTimeout)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(dialTimeout))
	fmt.Fprintln(connection, line)
	answer, err := bufio.NewReader(connection).ReadString('\n')
	return strings.TrimSpace(answer), err
}
