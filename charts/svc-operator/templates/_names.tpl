{{/* Names and labels of the operator's objects. */}}
{{- define "svc-operator.name" -}}
{{- if contains "svc-operator" .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-svc-operator" .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "svc-operator.selector" -}}
app.kubernetes.io/name: svc-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "svc-operator.labels" -}}
{{ include "svc-operator.selector" . }}
app.kubernetes.io/component: operator
app.kubernetes.io/part-of: svc
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "svc-operator.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}
