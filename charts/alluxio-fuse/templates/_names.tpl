{{- /* Names and labels. */ -}}

{{- define "alluxio.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "alluxio.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{- $name := include "alluxio.name" . -}}
{{ ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- /* Prefix of names that all namespaces share. */ -}}
{{- define "alluxio.clusterName" -}}
{{ .Release.Namespace }}-{{ include "alluxio.fullname" . }}
{{- end }}

{{- /* Labels that never change; all that a selector may hold. Takes {root, component}. */ -}}
{{- define "alluxio.selectorLabels" -}}
app.kubernetes.io/name: {{ include "alluxio.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /* Labels of objects. Takes {root, component}. */ -}}
{{- define "alluxio.labels" -}}
{{ include "alluxio.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: alluxio-fuse
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* metadata of an object. Takes {root, component, name}. */ -}}
{{- define "alluxio.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "alluxio.labels" . | nindent 2 }}
{{- end }}

{{- /* Name of the CSIDriver: one of a release, as each kubelet knows a driver once. */ -}}
{{- define "alluxio.csiDriver" -}}
{{ include "alluxio.fullname" . }}.{{ .Release.Namespace }}
{{- end }}

{{- define "alluxio.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{ .Values.image.repository }}{{ ternary (printf "@%s" .Values.image.digest) (printf ":%s" $tag) (ne .Values.image.digest "") }}
{{- end }}

{{- define "alluxio.priorityClass" -}}
{{- $made := ternary (include "alluxio.clusterName" .) "" .Values.priorityClass.create -}}
{{ default $made .Values.priorityClass.name }}
{{- end }}

{{- define "alluxio.mountRoot" -}}
{{ default (printf "/mnt/%s/%s" .Release.Namespace (include "alluxio.fullname" .)) .Values.fuse.mountRoot }}
{{- end }}

{{- define "alluxio.socketPath" -}}
{{ default (printf "/run/%s/%s" .Release.Namespace (include "alluxio.fullname" .)) .Values.shortCircuit.path }}
{{- end }}

{{- /* DNS names of the masters, separated by commas. */ -}}
{{- define "alluxio.masters" -}}
{{- $fullname := include "alluxio.fullname" . -}}
{{- $names := list -}}
{{- range until (int .Values.master.replicas) -}}
{{- $names = append $names (printf "%s-master-%d.%s-master-headless.%s.svc" $fullname . $fullname $.Release.Namespace) -}}
{{- end -}}
{{ join "," $names }}
{{- end }}

{{- /* Ports, by component and name. Pods have an address of their own, so these never meet. */ -}}
{{- define "alluxio.ports" -}}
master: {rpc: 19998, web: 19999}
job-master: {job-rpc: 20001, job-web: 20002}
worker: {rpc: 29999, web: 30000}
job-worker: {job-rpc: 30001, job-data: 30002, job-web: 30003}
fuse: {web: 49999}
{{- end }}

{{- define "alluxio.containerPorts" -}}
{{- range $name, $port := . }}
- {name: {{ $name }}, containerPort: {{ $port }}}
{{- end }}
{{- end }}
