// The server of etcd as it is released, built from its module: the peer of our cluster. With the
// word `load` as first argument it is a client instead, over etcd's own protocol (load.go).
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "load" {
		if err := load(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	etcdmain.Main(os.Args)
}
