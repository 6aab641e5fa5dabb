// Command coredns is CoreDNS with the few plugins that the lab's Corefile names: a tenth of the
// usual dependencies, and a build of one minute instead of several.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	// A query passes the plugins in this order, whatever the order in the Corefile.
	dnsserver.Directives = []string{
		"bind", "ready", "health", "errors", "cache", "loadbalance", "kubernetes",
	}
	coremain.Run()
}
