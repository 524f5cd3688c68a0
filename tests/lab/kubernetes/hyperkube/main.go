// One static binary that holds etcd and Kubernetes components, and runs the one whose name it is called by.
// With the build tag `apiserver` it holds etcd and the API server alone, which takes half the time to build.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

var components = map[string]func() *cobra.Command{
	"kube-apiserver": apiserver.NewAPIServerCommand,
}

func main() {
	name := filepath.Base(os.Args[0])
	if name == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	component, known := components[name]
	if !known {
		fmt.Fprintf(os.Stderr, "hyperkube: no component %q: call it by a component's name\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(component()))
}
