package main

import (
	"fmt"
	"net"
	"syscall"
)

// keepClosed binds a to a socket that never listens, for the life of the
// process. Connections to it are refused, as to any closed port, but the port
// cannot become the source of a connection: a free port that is dialled often
// does get connected to itself.
func keepClosed(a *net.TCPAddr) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	syscall.CloseOnExec(fd)
	// The port has connections of the closed listener in TIME_WAIT.
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return err
	}
	sa := &syscall.SockaddrInet4{Port: a.Port, Addr: [4]byte(a.IP.To4())}
	if err := syscall.Bind(fd, sa); err != nil {
		return fmt.Errorf("port %d cannot be kept closed: %w", a.Port, err)
	}
	return nil
}
