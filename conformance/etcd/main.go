// Command etcd is the real etcd, built from its published module, so that its version is pinned by
// go.sum and nothing is downloaded as a binary.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
