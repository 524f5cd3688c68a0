//go:build !apiserver

package main

import (
	"context"

	"github.com/spf13/cobra"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func init() {
	components["kube-controller-manager"] = controllers.NewControllerManagerCommand
	components["kube-scheduler"] = func() *cobra.Command { return scheduler.NewSchedulerCommand() }
	components["kubelet"] = func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }
	components["kube-proxy"] = proxy.NewProxyCommand
}
