// Command etcd is etcd, as the machines of the story run it: they live for minutes, and their disks are a file of the host's.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(append(os.Args, "--unsafe-no-fsync")) }
