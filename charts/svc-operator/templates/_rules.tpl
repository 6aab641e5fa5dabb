{{/* Made from operator/ by `make resources`; change it there. */}}
{{- define "svc-operator.rules" }}
- apiGroups:
    - svc.io
  resources:
    - svcclusters
    - svcbackupschedules
  verbs:
    - get
    - list
    - watch
- apiGroups:
    - svc.io
  resources:
    - svcbackups
  verbs:
    - get
    - list
    - watch
    - create
    - delete
- apiGroups:
    - svc.io
  resources:
    - svcclusters/status
    - svcbackupschedules/status
    - svcbackups/status
  verbs:
    - get
    - patch
    - update
- apiGroups:
    - svc.io
  resources:
    - svcclusters/finalizers
    - svcbackupschedules/finalizers
  verbs:
    - update
- apiGroups:
    - ""
  resources:
    - pods
  verbs:
    - get
    - list
    - watch
    - patch
    - delete
- apiGroups:
    - ""
  resources:
    - persistentvolumeclaims
  verbs:
    - get
    - list
    - watch
    - patch
    - delete
- apiGroups:
    - ""
  resources:
    - services
    - configmaps
    - serviceaccounts
  verbs:
    - get
    - list
    - watch
    - create
    - patch
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - get
    - list
    - watch
    - create
    - update
- apiGroups:
    - ""
  resources:
    - events
  verbs:
    - get
    - create
    - patch
- apiGroups:
    - apps
  resources:
    - statefulsets
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - policy
  resources:
    - poddisruptionbudgets
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - networking.k8s.io
  resources:
    - networkpolicies
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
{{- end }}
{{- define "svc-operator.leaseRules" }}
- apiGroups:
    - coordination.k8s.io
  resources:
    - leases
  verbs:
    - get
    - create
    - update
{{- end }}
{{- define "svc-operator.nodeRules" }}
- apiGroups:
    - ""
  resources:
    - nodes
  verbs:
    - get
{{- end }}
