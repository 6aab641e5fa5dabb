//go:build tools

// Package tools names the etcd server that the lab runs, so that go.mod and go.sum pin it.
package tools

import _ "go.etcd.io/etcd/server/v3"
