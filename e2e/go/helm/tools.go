//go:build tools

// Package tools names the helm command that the lab runs, so that go.mod and go.sum pin it.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
