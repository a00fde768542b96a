package gateway

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The addresses of Pods and of Gateways. All of them belong to lo, so a server
// that listens on 0.0.0.0 answers at each of them.
var networks = []string{"127.0.0.1/8", "10.42.0.1/16", "10.43.0.1/16"}

// TestMain has two more commands: "network" gives lo its addresses, in a network
// namespace of our own (gateway.sh); "tests" lists the suite's tests.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) != 2:
		os.Exit(m.Run())
	case os.Args[1] == "network":
		if err := makeNetwork(); err != nil {
			fmt.Fprintln(os.Stderr, "lo:", err)
			os.Exit(1)
		}
	case os.Args[1] == "tests":
		listTests()
	default:
		os.Exit(m.Run())
	}
}

func makeNetwork() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	for i, network := range networks {
		if err := addNetwork(socket, fmt.Sprintf("lo:%d", i), netip.MustParsePrefix(network)); err != nil {
			return err
		}
	}
	return setFlags(socket, "lo", unix.IFF_UP|unix.IFF_LOOPBACK|unix.IFF_RUNNING)
}

// addNetwork: label is lo:1 and so on, as an ioctl replaces the address that has
// the same label.
func addNetwork(socket int, label string, network netip.Prefix) error {
	mask := ^uint32(0) << (32 - network.Bits())
	if err := setAddress(socket, label, unix.SIOCSIFADDR, network.Addr().As4()); err != nil {
		return err
	}
	var bytes [4]byte
	binary.BigEndian.PutUint32(bytes[:], mask)
	return setAddress(socket, label, unix.SIOCSIFNETMASK, bytes)
}

func setAddress(socket int, label string, call uint, address [4]byte) error {
	request, err := unix.NewIfreq(label)
	if err != nil {
		return err
	}
	if err := request.SetInet4Addr(address[:]); err != nil {
		return err
	}
	return unix.IoctlIfreq(socket, call, request)
}

func setFlags(socket int, name string, flags uint16) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	request.SetUint16(flags)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}
